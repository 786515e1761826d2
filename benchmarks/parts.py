"""The parts of the benchmark that load a server: which loads are measured together, and beside what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.loads import IMAGES, Load


@dataclass(frozen=True)
class Part:
    """Loads that are measured in turn, each for every contender.

    Attributes:
        ensemble: that is served, drawn and fused.
        served: the loads of servers.
        limit: the batches of the limit.
        engine: the batches of the engine alone, which the floor is made of; the echo then takes the served loads.
        compared: whether the reference and the peers take part.
        bf16: whether the fused ensemble and its engine also compute in bf16, in batches of these loads.
    """

    ensemble: str
    served: Sequence[Load]
    limit: Sequence[Load] = ()
    engine: Sequence[Load] = ()
    compared: bool = False
    bf16: Sequence[Load] = ()


ONE, MANY, BATCH = Load("short", 1, 1), Load("short", 1, 32), Load("short", 32, 8)
MIX_ONE, MIX_BATCH = Load("mix", 1, 32), Load("mix", 32, 8)
IMAGE_ONE, IMAGE_BATCH = Load(IMAGES, 1, 4), Load(IMAGES, 8, 4)
BATCHES = {ONE: Load("short", 1, 0), MANY: Load("short", 32, 0), BATCH: Load("short", 32, 0)} | {
    load: Load(IMAGES, load.rows, 0) for load in (IMAGE_ONE, IMAGE_BATCH)
}
"""The batches of limit or engine that a served load is compared with."""
SORTED = (Load("mix", 8, 0, sorted=True), Load("mix", 32, 0, sorted=True))

PARTS: Mapping[str, Part] = {
    "one": Part("bert_trt", [ONE], engine=[BATCHES[ONE]], compared=True),
    "many": Part("bert_trt", [MANY], engine=[BATCHES[MANY]], compared=True),
    "batch": Part("bert_trt", [BATCH], limit=[BATCHES[BATCH]], compared=True, bf16=[BATCHES[BATCH]]),
    "mix": Part("bert_trt", [MIX_ONE, MIX_BATCH], limit=SORTED),
    "images": Part("dali_inception", [IMAGE_ONE, IMAGE_BATCH], limit=[BATCHES[IMAGE_ONE], BATCHES[IMAGE_BATCH]]),
}
