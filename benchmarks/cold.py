"""The part "cold": cold starts of bert_trt, fused and drawn, of what it was before, and of the reference, in turn.

A cold start is what SageMaker does for the first request of a model: unpack the archive, POST /models, infer. Each one
gets its own empty tritonserver, started before timing begins, with the flag that ``build.py deploy`` gives it; the
reference has the flags of SageMaker's own script, as AWS's example is deployed. Files are in the page cache; the
download is not included.

What it was before is the archive of the last commit without environments in folders, mapped weights and the fused form.
It is measured if it lies in build/bench/before/. To make it:

    git worktree add /tmp/before b918723 && ln -s $PWD/.venv $PWD/.triton /tmp/before/
    (cd /tmp/before && .venv/bin/python build.py build bert_trt)
    mkdir -p build/bench/before && cp /tmp/before/dist/cpu/bert_trt.tar.gz build/bench/before/
    git worktree remove --force /tmp/before
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.cold_start import ColdStart, cold_start
from benchmarks.contenders.contender import DRAWN, FUSED, REFERENCE
from benchmarks.examples import sentences
from benchmarks.memory import ONE_INSTANCE
from benchmarks.reference.build import built_reference
from benchmarks.results import Results
from benchmarks.tables import Table
from benchmarks.variants import built_variant, with_one_instance, with_wheels
from checkout import BUILD, PLACES
from triton_ensembles.building.build import build
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import CPU, fused

BEFORE = "drawn, before"
ARCHIVE_BEFORE = BUILD / "bench" / "before" / "bert_trt.tar.gz"
# ext4 keeps the inodes of deleted files for 5 s and searches long for others meanwhile: the round before deleted many.
_PAUSE = 6.0

Rounds = Mapping[str, Sequence[ColdStart]]


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``.

    Raises:
        EnsembleError: an archive cannot be built.
    """
    payload = sentences(["A cat sleeps on the sofa."])
    archives = _archives(results, progress)
    found: dict[str, list[ColdStart]] = {name: [] for name in archives}
    for number in range(1, rounds + 1):
        for name, archive in archives.items():
            time.sleep(_PAUSE)
            start = cold_start(archive, payload, "") if name == REFERENCE else cold_start(archive, payload)
            found[name].append(start)
            progress(f"round {number} of {rounds}: {name} answered after {start.total:.2f} s")
    results.tables.append(table(found))
    results.figures |= figures(found)


def _archives(results: Results, progress: Progress) -> dict[str, Path]:
    folder = PLACES.ensembles / "bert_trt"
    forms = ((FUSED, fused()), (DRAWN, CPU))
    archives = {
        name: build(folder, target, PLACES, allow_random=True, weights_dir=None, progress=progress).archive
        for name, target in forms
    }
    archives[ONE_INSTANCE] = built_variant("bert_trt", "single", with_one_instance, fused(), progress).archive
    archives[f"{DRAWN}, with wheels"] = built_variant("bert_trt", "wheels", with_wheels, CPU, progress).archive
    if ARCHIVE_BEFORE.exists():
        archives[BEFORE] = ARCHIVE_BEFORE
    else:
        results.missing[BEFORE] = "its archive has not been built; benchmarks/cold.py says how"
    try:
        archives[REFERENCE] = built_reference(progress).archive
    except EnsembleError as error:
        results.missing[REFERENCE] = str(error)
    return archives


def figures(rounds: Rounds) -> dict[str, float]:
    """Ratios of total times, the median of the rounds, each compared with itself; and kB that were left."""
    found = {f"left_{name}": max(each.left for each in rounds[name]) / 1e3 for name in (FUSED, DRAWN)}
    if BEFORE in rounds:
        found |= {f"cold_{name}": _ratio(rounds[name], rounds[BEFORE]) for name in (FUSED, DRAWN)}
    if REFERENCE in rounds:
        found["cold_reference"] = _ratio(rounds[REFERENCE], rounds[DRAWN])
    return found


def table(rounds: Rounds) -> Table:
    columns = {
        "unpacked, s": lambda each: each.extract,
        "POST /models, s": lambda each: each.load,
        "first answer, s": lambda each: each.first,
        "total, s": lambda each: each.total,
        "processor time, s": lambda each: each.processor,
        "left in /tmp, kB": lambda each: each.left / 1e3,
    }
    rows = []
    for name, starts in rounds.items():
        totals = [each.total for each in starts]
        medians = (f"{median(map(column, starts)):.2f}" for column in columns.values())
        rows.append([name, *medians, f"{min(totals):.2f} to {max(totals):.2f}"])
    note = (
        "Medians. The processor time is that of all processes until the first answer, which other work on the machine "
        f"affects less. “{BEFORE}” is the archive of commit b918723: environments as tars, weights copied."
    )
    return Table("Cold start: from the archive to the first answer", ["", *columns, "total, range"], rows, note)


def _ratio(over: Sequence[ColdStart], under: Sequence[ColdStart]) -> float:
    return median(one.total / other.total for one, other in zip(over, under, strict=True))
