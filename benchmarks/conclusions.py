"""The first paragraph of docs/performance.md: what the measurements say, in plain words."""

from contextlib import suppress

from benchmarks.goals import FIGURES, SPEED, verdicts
from benchmarks.results import Results

_SENTENCES = (
    "One sentence at a time, the fused bert_trt answers {one_drawn} times as fast as the drawn form and {one_peer} "
    "times as fast as the best peer: {one_floor} of the speed at which an echo plus the bare engine would answer.",
    "For 32 clients with one sentence each it has {many_peer} times the throughput of the best peer, {many_reference} "
    "times that of AWS's example, and {many_floor} of what an echo plus the bare engine would have.",
    "With 32 sentences per request it reaches {batch_limit} of the limit, which is what the cores can compute without "
    "a server.",
    "Images reach {image_limit} of it with one per request, {images_limit} with eight: there the engines take nearly "
    "all of the time in any form.",
    "In bf16 the fused form reaches {bf16_engine} of what the engine does alone, {bf16_peer} times the best peer.",
    "One loaded bert_trt takes {memory_fused_1} fused with one instance and {memory_drawn} drawn; of 64 fused ones in "
    "one server each takes {memory_64}.",
    "With 16 loaded and requests that go to one after the other, the fused form keeps {turns_fused} of the throughput "
    "that one alone has, the drawn form {turns_drawn}.",
    "The gateway has {gateway_resnet} times the throughput of a reference after AWS's older example for 8 clients of "
    "resnet and {gateway_bert_base} times for 8 of bert_base, and takes {gateway_memory} of its memory.",
    "From the archive to the first answer the fused form takes {cold_fused} of the time that the drawn form took "
    "before, and the drawn form now {cold_drawn}; after the unload {left_fused} are left in /tmp.",
)


def conclusions(results: Results) -> str:
    """The sentences whose numbers were all measured, and how many goals were met."""
    numbers = {
        name: f"{ratio.median:.2f}" for name, goal in SPEED.items() if (ratio := goal.ratio(results)) is not None
    }
    for name, figure in results.figures.items():
        if name in FIGURES:
            numbers[name] = FIGURES[name].measured(figure).removesuffix(" times")
    sentences = []
    for sentence in _SENTENCES:
        with suppress(KeyError):
            sentences.append(sentence.format_map(numbers))
    found = verdicts(results)
    met = sum(each.met is True for each in found)
    return " ".join([*sentences, f"{met} of {len(found)} goals were met."])
