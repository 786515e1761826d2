"""The part "memory": what loaded ensembles take, and how fast they answer when requests go to one after the other.

Each loaded ensemble is an archive of its own, cloned and unpacked, with all its files. All are in one tritonserver with
SageMaker's routes. The clones' weights are equal, so that fused ones have them in memory once, as libraries (see
fused/shared_files.py); with weights of its own an ensemble takes more by what the table says is mapped of them. Memory
is read after each has answered the same sentence to several clients, and again after different sentences, which touch
more of the mapped weights: rows of the table of word embeddings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks.cold_start import load_model, multi_model_server
from benchmarks.contenders.contender import DRAWN, FUSED
from benchmarks.examples import sentences
from benchmarks.http_load import HttpTarget, post, run_load, run_load_until_answered
from benchmarks.loads import Load, texts_of
from benchmarks.process_usage import Memory, memory_of
from benchmarks.results import Rates, Results, ratio_of
from benchmarks.tables import Table
from benchmarks.variants import built_variant, with_one_instance
from checkout import PLACES
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.building.build import build
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import CPU, fused

ONE_INSTANCE = f"{FUSED}, one instance"
CONNECTIONS = 8
TURNS = 16  # loaded ensembles that requests go to in turn
_TEXTS = 32
_WARM_UP = 1.0
_RESERVE = 2 << 30  # bytes of memory that are left to the rest of the machine
_MIB = 2**20


@dataclass(frozen=True)
class GrowthPoint:
    """With ``loaded`` ensembles in one server; ``one`` and ``turns`` are empty where speed was not measured.

    Attributes:
        load: seconds of POST /models, the median of those loaded since the point before.
        memory: after requests with the same sentence.
        varied: after requests with different sentences.
        one: requests per second by round, all of them to one ensemble.
        turns: the same, to all ensembles in turn.
    """

    loaded: int
    load: float
    memory: Memory
    varied: Memory
    one: Rates
    turns: Rates


@dataclass(frozen=True)
class _Form:
    name: str
    archive: Path
    counts: Sequence[int]
    turns: bool


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the figures and tables into ``results``. Raises :class:`EnsembleError` when something cannot be built."""
    grown: dict[str, list[GrowthPoint]] = {}
    for form in _forms(progress):
        grown[form.name] = []
        for point in grow(form.archive, _payloads(), form.counts, rounds if form.turns else 0, seconds=4.0):
            grown[form.name].append(point)
            progress(f"{form.name}: {point.loaded} loaded: {point.memory.pss / _MIB:.0f} MiB")
        for count in form.counts[len(grown[form.name]) :]:
            results.missing[f"{count} loaded, {form.name}"] = "the machine has not enough memory"
    results.tables += [memory_table(grown), turns_table(grown)]
    results.figures |= figures(grown)


def _forms(progress: Progress) -> list[_Form]:
    folder = PLACES.ensembles / "bert_trt"
    built = {
        target.name: build(folder, target, PLACES, allow_random=True, weights_dir=None, progress=progress)
        for target in (fused(), CPU)
    }
    single = built_variant("bert_trt", "single", with_one_instance, fused(), progress)
    return [
        _Form(FUSED, built["fused"].archive, [1], turns=False),
        _Form(ONE_INSTANCE, single.archive, [1, TURNS, 64], turns=True),
        _Form(DRAWN, built["cpu"].archive, [1, TURNS], turns=True),
    ]


def _payloads() -> list[Payload]:
    texts = texts_of(Load("short", 1, 1), PLACES.repository(CPU.name, "bert_trt"))[:_TEXTS]
    return [sentences([text]) for text in texts]


def grow(
    archive: Path, payloads: Sequence[Payload], counts: Sequence[int], rounds: int, seconds: float
) -> Iterator[GrowthPoint]:
    """Load clones of ``archive``, and measure when there are as many as one of ``counts``; stop when memory runs out.

    Args:
        payloads: of the requests that each gets, all of one content type.
        rounds: how often the speed with ``TURNS`` loaded is measured; 0: not at all.
    """
    with multi_model_server() as (server, scratch):
        host, port = server.sagemaker_url.split(":")
        requests: list[list[bytes]] = []
        loads: list[float] = []
        for path in clone(archive, clone_names("clone", max(counts)), scratch / "clones"):
            if _available() < _RESERVE:
                return
            hash = f"m{len(requests)}"
            extract(path, scratch / hash, lambda _: None)
            path.unlink()
            loads.append(load_model(server, hash, scratch / hash, path.name))
            headers = {"X-Amzn-SageMaker-Target-Model": path.name, "Content-Type": payloads[0].content_type}
            invoke = f"/models/{hash}/invoke"
            requests.append([post(host, int(port), invoke, headers, each.body) for each in payloads])
            if len(requests) in counts:
                same = HttpTarget(host, int(port), [each[0] for each in requests])
                # A sentence goes to every ensemble before the next one does.
                turns = HttpTarget(host, int(port), [*chain.from_iterable(zip(*requests, strict=True))])
                memory, varied = (_memory_after(server.pid, each) for each in (same, turns))
                one: dict[int, float] = {}
                in_turn: dict[int, float] = {}
                for number in range(rounds if len(requests) == TURNS else 0):
                    one[number] = _rate(HttpTarget(host, int(port), requests[0]), seconds)
                    in_turn[number] = _rate(turns, seconds)
                yield GrowthPoint(len(requests), median(loads), memory, varied, one, in_turn)
                loads.clear()


def _memory_after(pid: int, target: HttpTarget) -> Memory:
    run_load(target, CONNECTIONS, 2.0, _WARM_UP)
    return memory_of(pid)


def _available() -> int:
    """Bytes of memory that programs can still take."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _rate(target: HttpTarget, seconds: float) -> float:
    answers = run_load_until_answered(target, CONNECTIONS, seconds, _WARM_UP)
    return len(answers.finished) / answers.seconds


def figures(grown: dict[str, list[GrowthPoint]]) -> dict[str, float]:
    """MiB of one, MiB of each of several, and the ratios of speed."""
    single = {point.loaded: point.memory.pss / _MIB / point.loaded for point in grown[ONE_INSTANCE]}
    keys = {1: "memory_fused_1", TURNS: "memory_16", 64: "memory_64"}
    found = {key: single[count] for count, key in keys.items() if count in single}
    for key, form in (("memory_fused_2", FUSED), ("memory_drawn", DRAWN)):
        found[key] = grown[form][0].memory.pss / _MIB
    for key, form in (("turns_fused", ONE_INSTANCE), ("turns_drawn", DRAWN)):
        for point in grown[form]:
            if ratio := ratio_of(point.turns, point.one):
                found[key] = ratio.median
    return found


def memory_table(grown: dict[str, list[GrowthPoint]]) -> Table:
    rows = []
    for name, points in grown.items():
        for point in points:
            sizes: list[float] = [point.memory.pss, point.memory.anonymous, point.memory.weights]
            sizes += [each.pss / point.loaded for each in (point.memory, point.varied)]
            rows.append([name, str(point.loaded), *(f"{size / _MIB:.0f}" for size in sizes), f"{point.load:.2f}"])
    note = (
        "PSS of the server and all its processes: a page that several processes share counts once among them. What is "
        "not anonymous are mapped files, which the kernel can drop and read again. All have equal weights, which fused "
        "ones have in memory once; an ensemble with weights of its own takes as much more as one alone has mapped of "
        f"them. The last but one column is after {_TEXTS} different sentences, the others after the same one."
    )
    return Table(
        "Memory of loaded bert_trt, each with its own files",
        [
            "",
            "loaded",
            "PSS, MiB",
            "anonymous, MiB",
            "mapped weights, MiB",
            "PSS of each, MiB",
            "the same, varied, MiB",
            "POST /models, s",
        ],
        rows,
        note,
    )


def turns_table(grown: dict[str, list[GrowthPoint]]) -> Table:
    rows = [
        [name, *(f"{median(rates.values()):.0f}" for rates in (point.one, point.turns)), str(ratio)]
        for name, points in grown.items()
        for point in points
        if (ratio := ratio_of(point.turns, point.one))
    ]
    note = f"One sentence per request over {CONNECTIONS} connections, by rounds that alternate."
    header = ["", "to one, requests per second", "in turn, requests per second", "in turn / to one"]
    return Table(f"Requests in turn to {TURNS} loaded bert_trt", header, rows, note)
