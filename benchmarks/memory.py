"""The part "memory": the memory of loaded ensembles.

Each loaded ensemble is an archive of its own, cloned and unpacked, with all its files. All are in one tritonserver with
SageMaker's routes. The clones' weights are equal, so that fused ones have them in memory once, as libraries (see
fused/shared_files.py). Memory is read after each has answered different sentences to several clients, which touch many
rows of the table of word embeddings, one of the mapped weights.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from benchmarks.contenders.contender import DIGITS, DRAWN, FUSED, ONE_INSTANCE
from benchmarks.examples import examples_of, sentences
from benchmarks.http_load import HttpTarget, post, run_load
from benchmarks.loads import short_texts
from benchmarks.multi_model import load_model, multi_model_server, send
from benchmarks.results import Results
from benchmarks.tables import Table
from benchmarks.variants import built_ensemble, built_variant, with_one_instance
from checkout import PLACES
from triton_ensembles.building.variants.table import clone_names
from triton_ensembles.building.variants.written import clone
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


def measure(results: Results, _rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``; one round is enough.

    Raises:
        EnsembleError: an archive cannot be built.
    """
    rows: list[list[str]] = []
    texts = short_texts(PLACES.repository(CPU.name, "bert_trt"))[:_TEXTS]
    payloads = [sentences([text]) for text in texts]
    large = sentences([" ".join(texts)] * _LARGE)  # cut to 128 tokens
    digit = payload_of(examples_of("digits").requests[0])
    for name, (archive, counts) in _forms(progress).items():
        later = f"{after_large_batch(archive, payloads, large):.2f} times" if name == ONE_INSTANCE else ""
        for loaded, memory in grow(archive, [digit] if name == DIGITS else payloads, counts):
            rows.append(
                [name, str(loaded), f"{memory / _MIB / loaded:.0f}", "" if rows and rows[-1][0] == name else later]
            )
            progress(f"{name}: {loaded} loaded: {memory / _MIB:.0f} MiB")
    note = (
        "PSS of the server and all its processes, in which a page that several processes share counts once, divided by "
        f"the loaded ensembles, after {_TEXTS} different sentences to each. All have equal weights, which fused ones "
        "have in memory once."
    )
    header = ["", "loaded", "MiB of each", f"after {_LARGE} x 128 tokens"]
    results.tables.append(Table("Memory of loaded bert_trt (or digits), each with its own files", header, rows, note))


def _forms(progress: Progress) -> dict[str, tuple[Path, Sequence[int]]]:
    """The archive of each form, and the numbers of loaded ones at which memory is read."""
    single = built_variant("bert_trt", "single", with_one_instance, fused(), progress)
    return {
        FUSED: (built_ensemble("bert_trt", fused(), progress).archive, [1]),
        ONE_INSTANCE: (single.archive, [1, 16, 64]),
        DRAWN: (built_ensemble("bert_trt", CPU, progress).archive, [1, 16]),
        DIGITS: (built_ensemble("digits", fused(), progress).archive, [1, 64]),
    }


def grow(archive: Path, payloads: Sequence[Payload], counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Load clones of ``archive``; yields each of ``counts`` with the bytes (PSS) that the server and all its processes
    then take.

    Args:
        payloads: of the requests that each gets, all of one content type.
    """
    with multi_model_server() as (server, scratch):
        requests: list[list[bytes]] = []
        for path in clone(archive, clone_names("clone", max(counts)), scratch / "clones"):
            hash = f"m{len(requests)}"
            extract(path, scratch / hash, lambda _: None)
            path.unlink()
            load_model(server, hash, scratch / hash, path.name)
            headers = {"X-Amzn-SageMaker-Target-Model": path.name, "Content-Type": payloads[0].content_type}
            invoke = f"/models/{hash}/invoke"
            requests.append([post(invoke, headers, payload.body) for payload in payloads])
            if len(requests) in counts:
                # A sentence goes to every ensemble before the next one does.
                turns = HttpTarget(server.sagemaker_url, [*chain.from_iterable(zip(*requests, strict=True))])
                run_load(turns, CONNECTIONS, 2.0, _WARM_UP)
                yield len(requests), proportional_set_size((server.pid, *descendants(server.pid)))


def after_large_batch(archive: Path, payloads: Sequence[Payload], large: Payload) -> float:
    """Memory (PSS) of a server with the ensemble at rest after ``large``, as a ratio to that after ``payloads``."""
    with multi_model_server() as (server, scratch):
        extract(archive, scratch / "large", lambda _: None)
        load_model(server, "large", scratch / "large", archive.name)
        sizes = []
        for requests, seconds in ((payloads, 0.0), ([large], _REST)):
            for payload in requests:
                send(server, "POST", "/models/large/invoke", archive.name, payload.body, payload.content_type)
            time.sleep(seconds)
            sizes.append(proportional_set_size((server.pid, *descendants(server.pid))))
        return sizes[1] / sizes[0]
