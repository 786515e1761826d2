"""The part "memory": what loaded ensembles take, and how fast they answer when requests go to one after the other.

Each loaded ensemble is an archive of its own, cloned and unpacked, with all its files. All are in one tritonserver with
SageMaker's routes. The clones' weights are equal, so that fused ones have them in memory once, as libraries (see
fused/shared_files.py). Memory is read after each has answered different sentences to several clients, which touch many
rows of the table of word embeddings, one of the mapped weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks.contenders.contender import DRAWN, FUSED, ONE_INSTANCE
from benchmarks.examples import sentences
from benchmarks.http_load import HttpTarget, post, run_load, run_load_until_answered
from benchmarks.loads import Load, texts_of
from benchmarks.multi_model import load_model, multi_model_server
from benchmarks.results import Rates, Results, ratio_of
from benchmarks.tables import Table
from benchmarks.variants import built_ensemble, built_variant, with_one_instance
from checkout import PLACES
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.processes import descendants, proportional_set_size
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import CPU, fused

CONNECTIONS = 8
TURNS = 16  # loaded ensembles that requests go to in turn
_TEXTS = 32
_WARM_UP = 1.0
_RESERVE = 2 << 30  # bytes of memory that are left to the rest of the machine
_MIB = 2**20


@dataclass(frozen=True)
class GrowthPoint:
    """A look at one server with ``loaded`` ensembles; the rates are empty where speed was not measured.

    Attributes:
        load: seconds of POST /models, the median of those loaded since the point before.
        memory: bytes (PSS) of the server and all its processes.
        single: requests per second by round, all of them to one ensemble.
        turns: the same, to all ensembles in turn.
    """

    loaded: int
    load: float
    memory: int
    single: Rates
    turns: Rates


@dataclass(frozen=True)
class _Form:
    archive: Path
    counts: Sequence[int]
    turns: bool


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the figures and tables into ``results``. Raises :class:`EnsembleError` when something cannot be built."""
    growth: dict[str, list[GrowthPoint]] = {}
    for name, form in _forms(progress).items():
        growth[name] = []
        for point in grow(form.archive, _payloads(), form.counts, rounds if form.turns else 0, seconds=4.0):
            growth[name].append(point)
            progress(f"{name}: {point.loaded} loaded: {point.memory / _MIB:.0f} MiB")
            results.figures[f"memory {name} {point.loaded}"] = point.memory / _MIB / point.loaded
        for count in form.counts[len(growth[name]) :]:
            results.missing[f"{count} loaded, {name}"] = "the machine has not enough memory"
    results.tables += [memory_table(growth), turns_table(growth)]


def _forms(progress: Progress) -> dict[str, _Form]:
    single = built_variant("bert_trt", "single", with_one_instance, fused(), progress)
    return {
        FUSED: _Form(built_ensemble("bert_trt", fused(), progress).archive, [1], turns=False),
        ONE_INSTANCE: _Form(single.archive, [1, TURNS, 64], turns=True),
        DRAWN: _Form(built_ensemble("bert_trt", CPU, progress).archive, [1, TURNS], turns=True),
    }


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
            requests.append([post(host, int(port), invoke, headers, payload.body) for payload in payloads])
            if len(requests) in counts:
                # A sentence goes to every ensemble before the next one does.
                turns = HttpTarget(host, int(port), [*chain.from_iterable(zip(*requests, strict=True))])
                run_load(turns, CONNECTIONS, 2.0, _WARM_UP)
                memory = proportional_set_size((server.pid, *descendants(server.pid)))
                rates: dict[int, tuple[float, float]] = {}
                for number in range(rounds if len(requests) == TURNS else 0):
                    single = HttpTarget(host, int(port), requests[0])
                    rates[number] = _rate(single, seconds), _rate(turns, seconds)
                single_rates, turn_rates = ({key: pair[side] for key, pair in rates.items()} for side in (0, 1))
                yield GrowthPoint(len(requests), median(loads), memory, single_rates, turn_rates)
                loads.clear()


def _available() -> int:
    """Bytes of memory that programs can still take."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _rate(target: HttpTarget, seconds: float) -> float:
    answers = run_load_until_answered(target, CONNECTIONS, seconds, _WARM_UP)
    return len(answers.finished) / answers.seconds


def memory_table(growth: Mapping[str, Sequence[GrowthPoint]]) -> Table:
    rows = [
        [name, str(point.loaded), f"{point.memory / _MIB / point.loaded:.0f}", f"{point.load:.2f}"]
        for name, points in growth.items()
        for point in points
    ]
    note = (
        "PSS of the server and all its processes, in which a page that several processes share counts once, divided by "
        f"the loaded ensembles, after {_TEXTS} different sentences to each. All have equal weights, which fused ones "
        "have in memory once."
    )
    header = ["", "loaded", "MiB of each", "POST /models, s"]
    return Table("Memory of loaded bert_trt, each with its own files", header, rows, note)


def turns_table(growth: Mapping[str, Sequence[GrowthPoint]]) -> Table:
    rows = [
        [name, *(f"{median(rates.values()):.0f}" for rates in (point.single, point.turns)), str(ratio)]
        for name, points in growth.items()
        for point in points
        if (ratio := ratio_of(point.turns, point.single))
    ]
    note = f"One sentence per request over {CONNECTIONS} connections, by rounds that alternate."
    header = ["", "to one, requests per second", "in turn, requests per second", "in turn / to one"]
    return Table(f"Requests in turn to {TURNS} loaded bert_trt", header, rows, note)
