"""The part "bounds": what the parts of bert_trt take alone, in one process on one core, where goals are out of reach.

A sentence that goes to one of many ensembles meets weights that no cache holds, and is computed alone; 32 clients and
16 ensembles in turn are bounded by that, whatever serves them. The same for a cold start: the archive must be unpacked,
its packages imported, its files read.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.engines import find_step, open_engine
from benchmarks.limit_process import text_encoder, text_ensemble
from benchmarks.loads import Load, texts_of
from benchmarks.memory import TURNS
from benchmarks.results import Results
from benchmarks.tables import Table
from checkout import PLACES
from triton_ensembles.building.build import build
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import fused

_ROWS = (1, 4, 8, 16, 32)
_SECONDS = 1.0
_IMPORTS = "import sys; sys.path.insert(0, sys.argv[1]); import numpy, onnxruntime, tokenizers"


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the tables into ``results``. Raises :class:`EnsembleError` when bert_trt cannot be built."""
    built = build(
        PLACES.ensembles / "bert_trt", fused(), PLACES, allow_random=True, weights_dir=None, progress=progress
    )
    texts = texts_of(Load("short", 32, 1), built.repository)[:32]
    results.tables += [
        _engine_table(built.repository, texts, rounds),
        _parts_table(built.repository, built.archive, texts, rounds),
    ]


def _engine_table(repository: Path, texts: Sequence[str], rounds: int) -> Table:
    step, encode = find_step(repository), text_encoder(repository)
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        copies = [shutil.copytree(step.file.parent, Path(folder) / str(number)) for number in range(TURNS)]
        engines = [open_engine(replace(step, file=copy / step.file.name), 1) for copy in copies]
        for size in _ROWS:
            arrays = encode(texts[:size])
            calls = [partial(engine, arrays) for engine in engines]
            times = [median(_seconds(some) for _ in range(rounds)) / size for some in (calls[:1], calls)]
            rows.append([str(size), *(f"{each * 1e3:.2f}" for each in times), f"{times[0] / times[1]:.2f}"])
    header = ["sentences in a batch", "one engine, ms a sentence", f"{TURNS} engines in turn, ms a sentence", "ratio"]
    note = f"Each of the {TURNS} engines has files of its own."
    return Table("The engine alone, one thread, one core", header, rows, note)


def _parts_table(repository: Path, archive: Path, texts: Sequence[str], rounds: int) -> Table:
    width = len(text_encoder(repository)(texts)["attn_mask"][0])
    hidden = np.ones((len(texts), width, 384), np.float32)
    embed = text_ensemble(repository, lambda _: hidden)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        unpacked = [Path(folder) / str(number) for number in range(rounds)]
        unpack = median(_once(partial(extract, archive, path, lambda _: None)) for path in unpacked)
        packages = str(next(unpacked[0].rglob("onnxruntime/__init__.py")).parents[1])
        program = [sys.executable, "-S", "-c", _IMPORTS, packages]
        imports = median(_once(lambda: subprocess.run(program, check=True)) for _ in range(rounds))
        files = [path for path in unpacked[0].rglob("*") if path.is_file()]
        read = median(_once(lambda: [_digest(path) for path in files]) for _ in range(rounds))
        engine = median(_once(lambda: open_engine(find_step(repository), 1)) for _ in range(rounds))
    rows = [
        ["tokenizing and pooling, a sentence of a batch of 32", f"{_seconds([lambda: embed(texts)]) / 32 * 1e3:.3f}"],
        ["unpacking the fused archive", f"{unpack * 1e3:.0f}"],
        ["a new Python that imports numpy, onnxruntime and tokenizers", f"{imports * 1e3:.0f}"],
        ["one session over mapped weights", f"{engine * 1e3:.0f}"],
        ["sha256 of all files of the archive", f"{read * 1e3:.0f}"],
    ]
    return Table("Other parts alone, one core", ["", "ms"], rows)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _once(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _seconds(calls: Sequence[Callable[[], object]]) -> float:
    """Of one call, when they are made in turn for a while."""
    for call in calls:
        call()
    began, turns = time.perf_counter(), 0
    while time.perf_counter() - began < _SECONDS:
        for call in calls:
            call()
        turns += 1
    return (time.perf_counter() - began) / turns / len(calls)
