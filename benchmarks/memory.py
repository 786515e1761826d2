"""The part "memory": the memory of loaded ensembles.

Each loaded ensemble is an archive of its own, cloned and unpacked, with all its files. All are in one tritonserver with
SageMaker's routes. The clones' weights are equal, so that fused ones have them in memory once, as libraries (see
fused/shared_files.py). Memory is read after each has answered different sentences to several clients, which touch many
rows of the table of word embeddings, one of the mapped weights.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks.contenders.contender import DIGITS, DRAWN, FUSED, ONE_INSTANCE
from benchmarks.examples import examples_of, sentences
from benchmarks.http_load import HttpTarget, post, run_load
from benchmarks.loads import short_texts
from benchmarks.multi_model import load_model, multi_model_server, send
from benchmarks.results import Results
from benchmarks.tables import Table
from benchmarks.variants import built_ensemble, built_variant, with_one_instance
from checkout import PLACES
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.deploy.payload import Payload, payload_of
from triton_ensembles.ground.processes import descendants, proportional_set_size
from triton_ensembles.ground.progress import Progress
from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.triton.targets import CPU, fused

CONNECTIONS = 8
_TEXTS = 32
_WARM_UP = 1.0
_LARGE = 64  # texts of the large batch
_REST = 3.0  # seconds until an idle ensemble has given memory back
_MIB = 2**20


@dataclass(frozen=True)
class GrowthPoint:
    """A look at one server with ``loaded`` ensembles.

    Attributes:
        load: seconds of POST /models, the median of those loaded since the point before.
        memory: bytes (PSS) of the server and all its processes.
    """

    loaded: int
    load: float
    memory: int


def measure(results: Results, _rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``; one round is enough.

    Raises:
        EnsembleError: an archive cannot be built.
    """
    growth: dict[str, list[GrowthPoint]] = {}
    texts = short_texts(PLACES.repository(CPU.name, "bert_trt"))[:_TEXTS]
    payloads = [sentences([text]) for text in texts]
    large = sentences([" ".join(texts)] * _LARGE)  # cut to 128 tokens
    digit = payload_of(examples_of("digits").requests[0])
    for name, (archive, counts) in _forms(progress).items():
        growth[name] = []
        for point in grow(archive, [digit] if DIGITS in name else payloads, counts):
            growth[name].append(point)
            progress(f"{name}: {point.loaded} loaded: {point.memory / _MIB:.0f} MiB")
            results.figures[f"memory {name} {point.loaded}"] = point.memory / _MIB / point.loaded
            results.figures[f"load {name} {point.loaded}"] = point.load
        if ONE_INSTANCE in name:
            usual, after = after_large_batch(archive, payloads, large)
            results.figures[f"large {name}"] = after / usual
            progress(f"{name}: {usual / _MIB:.0f} MiB, after {_LARGE} x 128 tokens {after / _MIB:.0f} MiB")
    results.tables.append(memory_table(growth))


def _forms(progress: Progress) -> dict[str, tuple[Path, Sequence[int]]]:
    """The archive of each form, and the numbers of loaded ones at which memory is read."""
    single = built_variant("bert_trt", "single", with_one_instance, fused(), progress)
    return {
        FUSED: (built_ensemble("bert_trt", fused(), progress).archive, [1]),
        ONE_INSTANCE: (single.archive, [1, 16, 64]),
        DRAWN: (built_ensemble("bert_trt", CPU, progress).archive, [1, 16]),
        DIGITS: (built_ensemble("digits", fused(), progress).archive, [1, 64]),
    }


def grow(archive: Path, payloads: Sequence[Payload], counts: Sequence[int]) -> Iterator[GrowthPoint]:
    """Load clones of ``archive``, and measure when there are as many as one of ``counts``.

    Args:
        payloads: of the requests that each gets, all of one content type.
    """
    with multi_model_server() as (server, scratch):
        requests: list[list[bytes]] = []
        loads: list[float] = []
        for path in clone(archive, clone_names("clone", max(counts)), scratch / "clones"):
            hash = f"m{len(requests)}"
            extract(path, scratch / hash, lambda _: None)
            path.unlink()
            loads.append(load_model(server, hash, scratch / hash, path.name))
            headers = {"X-Amzn-SageMaker-Target-Model": path.name, "Content-Type": payloads[0].content_type}
            invoke = f"/models/{hash}/invoke"
            requests.append([post(invoke, headers, payload.body) for payload in payloads])
            if len(requests) in counts:
                # A sentence goes to every ensemble before the next one does.
                turns = HttpTarget(server.sagemaker_url, [*chain.from_iterable(zip(*requests, strict=True))])
                run_load(turns, CONNECTIONS, 2.0, _WARM_UP)
                memory = proportional_set_size((server.pid, *descendants(server.pid)))
                yield GrowthPoint(len(requests), median(loads), memory)
                loads.clear()


def after_large_batch(archive: Path, payloads: Sequence[Payload], large: Payload) -> tuple[int, int]:
    """Bytes (PSS) of a server with the ensemble after ``payloads``, then at rest after ``large``."""
    with multi_model_server() as (server, scratch):
        extract(archive, scratch / "large", lambda _: None)
        load_model(server, "large", scratch / "large", archive.name)
        sizes = []
        for requests, seconds in ((payloads, 0.0), ([large], _REST)):
            for payload in requests:
                send(server, "POST", "/models/large/invoke", archive.name, payload.body, payload.content_type)
            time.sleep(seconds)
            sizes.append(proportional_set_size((server.pid, *descendants(server.pid))))
        return sizes[0], sizes[1]


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
    return Table("Memory of loaded bert_trt (or digits), each with its own files", header, rows, note)
