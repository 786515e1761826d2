"""The part "cold": cold starts of bert_trt, fused and drawn, and of the reference, in turn.

A cold start is what SageMaker does for the first request of a model: unpack the archive, POST /models, infer. Each one
gets its own empty tritonserver, started before timing begins, with the flag that ``build.py deploy`` gives it; the
reference has the flags of SageMaker's own script, as AWS's example is deployed. Files are in the page cache; the
download is not included.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders.contender import DRAWN, FUSED, ONE_INSTANCE, REFERENCE, WHEELS
from benchmarks.examples import sentences
from benchmarks.multi_model import NO_AUTO_COMPLETE, load_model, multi_model_server, send
from benchmarks.reference.build import built_reference
from benchmarks.results import Results
from benchmarks.tables import Table
from benchmarks.variants import built_ensemble, built_variant, with_one_instance, with_wheels
from tests.processes import wait_until
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import descendants
from triton_ensembles.ground.progress import Progress
from triton_ensembles.hosting.cpu import family_seconds, processor_seconds
from triton_ensembles.hosting.environment_sizes import EnvironmentSizes
from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.triton.targets import CPU, fused

# ext4 keeps the inodes of deleted files for 5 s and searches long for others meanwhile: the round before deleted many.
_PAUSE = 6.0


@dataclass(frozen=True)
class ColdStart:
    """One cold start; times are in seconds.

    Attributes:
        extract: the archive, by the local endpoint's own extraction.
        load: POST /models until its answer.
        first: a request with one text.
        processor: user and system time of all processes until the first answer, including the extraction's.
        left: bytes in the server's temporary folders after the model was unloaded.
    """

    extract: float
    load: float
    first: float
    processor: float
    left: int

    @property
    def total(self) -> float:
        return self.extract + self.load + self.first


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``. Raises :class:`EnsembleError` when an archive cannot be built."""
    payload = sentences(["A cat sleeps on the sofa."])
    archives = _archives(results, progress)
    starts: dict[str, list[ColdStart]] = {name: [] for name in archives}
    for number in range(1, rounds + 1):
        for name, archive in archives.items():
            time.sleep(_PAUSE)
            start = cold_start(archive, payload, "" if name == REFERENCE else NO_AUTO_COMPLETE)
            starts[name].append(start)
            progress(f"round {number} of {rounds}: {name} answered after {start.total:.2f} s")
    results.tables.append(table(starts, {name: archive.stat().st_size for name, archive in archives.items()}))


def _archives(results: Results, progress: Progress) -> dict[str, Path]:
    built = {
        FUSED: built_ensemble("bert_trt", fused(), progress),
        DRAWN: built_ensemble("bert_trt", CPU, progress),
        ONE_INSTANCE: built_variant("bert_trt", "single", with_one_instance, fused(), progress),
        WHEELS: built_variant("bert_trt", "wheels", with_wheels, CPU, progress),
    }
    try:
        built[REFERENCE] = built_reference(progress)
    except EnsembleError as error:
        results.missing[REFERENCE] = str(error)
    return {name: form.archive for name, form in built.items()}


def cold_start(archive: Path, payload: Payload, flags: str = NO_AUTO_COMPLETE) -> ColdStart:
    """From the archive to an answer, and to the unload. Starts its own server before timing begins."""
    with multi_model_server(flags) as (server, scratch):
        before, began = _processor_time(server.pid), time.perf_counter()
        extract(archive, scratch / "model", lambda _: None)
        extracted = time.perf_counter() - began
        loaded = load_model(server, "cold", scratch / "model", archive.name)
        first = send(server, "POST", "/models/cold/invoke", archive.name, payload.body, payload.content_type)
        processor = _processor_time(server.pid) - before
        send(server, "DELETE", "/models/cold", archive.name)
        wait_until(lambda: not descendants(server.pid))  # Triton answers an unload before its steps have ended
        remains = EnvironmentSizes().total({*server.note_environments(), scratch / "tmp"})
        return ColdStart(extracted, loaded, first, processor, remains)


def _processor_time(pid: int) -> float:
    """Seconds of this process, and of the server with all its children, those that have ended included."""
    return family_seconds((pid, *descendants(pid))) + processor_seconds(os.getpid())


def table(starts: Mapping[str, Sequence[ColdStart]], sizes: Mapping[str, int]) -> Table:
    """A row for each form of bert_trt; ``sizes`` are the bytes of the archives."""
    columns = {
        "unpacked, s": lambda start: start.extract,
        "POST /models, s": lambda start: start.load,
        "first answer, s": lambda start: start.first,
        "total, s": lambda start: start.total,
        "processor time, s": lambda start: start.processor,
        "left in /tmp, MB": lambda start: start.left / 1e6,
    }
    rows = []
    for name, rounds in starts.items():
        medians = (f"{median(map(column, rounds)):.2f}" for column in columns.values())
        rows.append([name, *medians, f"{sizes[name] / 1e6:.0f}"])
    note = (
        "Medians. The processor time is that of all processes until the first answer, which other work on the machine "
        "affects less. What is left is left after the unload."
    )
    return Table(
        "Cold start of bert_trt: from the archive to the first answer", ["", *columns, "archive, MB"], rows, note
    )
