"""Cold start, archive size and memory: the ensembles against the reference, in one run, in turns.

    python -m benchmarks.start [--rounds 3] [--json reports/bench/start.json]

A cold start is what SageMaker does for the first request of a model: unpack the archive, POST /models, ask. Each one
has an empty tritonserver of its own, started before the clock. Every archive is measured with the flags that
SageMaker's own script gives (auto-completion on, as AWS's example is deployed), and with auto-completion switched off
by a variable of the container (SAGEMAKER_TRITON_ADDITIONAL_ARGS=--disable-auto-complete-config, as build.py deploy
gives it). Files are in the page cache; the download is left out.

The first run builds the reference's environment, which holds torch: some minutes, and 4 GB of disk for a while.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import start_tables as tables
from benchmarks.examples import photograph, sentences
from benchmarks.reference.build import built_reference
from benchmarks.start_cold import NO_AUTO_COMPLETE, ColdStart, cold_start
from benchmarks.start_growth import grow
from benchmarks.start_size import size_without_weights
from triton_ensembles.building.build import Built, build
from triton_ensembles.building.places import Places
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import BUILD, DIST, ENSEMBLES, REPORTS
from triton_ensembles.perf.facts import machine
from triton_ensembles.triton.home import VERSION
from triton_ensembles.triton.targets import CPU

OURS, REFERENCE = "bert_trt", "bert_reference"
WITHOUT = ", no auto-completion"
# ext4 keeps the inodes of deleted files for 5 s and looks long for others meanwhile: the round before has deleted many.
_PAUSE = 6.0


@dataclass(frozen=True)
class Start:
    """One archive with one set of flags."""

    name: str
    built: Built
    payload: Payload
    flags: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=REPORTS / "bench" / "start.json")
    arguments = parser.parse_args()
    command = f"python -m benchmarks.start --rounds {arguments.rounds}"
    try:
        facts = {"machine": machine(), "versions": _versions(), "command": command}
        result = facts | measure(arguments.rounds)
    except EnsembleError as error:
        raise SystemExit(str(error)) from error
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    partial = arguments.json.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    partial.replace(arguments.json)
    for table in result["tables"]:
        print(f"\n{table['title']}\n{' | '.join(table['header'])}")
        for row in table["rows"]:
            print(" | ".join(map(str, row)))
    print(f"\nratios {result['ratios']}\n{arguments.json}")


def measure(rounds: int) -> dict[str, Any]:
    """``tables`` and ``ratios``. Raises :class:`EnsembleError` when something cannot be built or does not load."""
    built = {name: _built(name) for name in (OURS, "dali_inception")} | {REFERENCE: built_reference(print)}
    text = sentences(["A cat sleeps on the sofa."])
    payloads = {OURS: text, REFERENCE: text, "dali_inception": photograph("dali_inception")}
    starts = [
        Start(f"{name}{WITHOUT if flags else ''}", each, payloads[name], flags)
        for name, each in built.items()
        for flags in ("", NO_AUTO_COMPLETE)
    ]
    colds: dict[str, list[ColdStart]] = {start.name: [] for start in starts}
    for turn in range(1, rounds + 1):
        for start in starts:
            time.sleep(_PAUSE)
            cold = cold_start(start.built.archive, start.payload, flags=start.flags, with_phases=True)
            colds[start.name].append(cold)
            print(f"round {turn} of {rounds}: {start.name} answered after {cold.total:.2f} s", flush=True)
    print(f"clones of {OURS}", flush=True)
    grown = list(grow(built[OURS].archive, text, (1, 4, 16), seconds=5, rounds=rounds))
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        sizes = {
            name: tables.Size(each.archive.stat().st_size, size_without_weights(each.repository, Path(scratch)))
            for name, each in built.items()
        }
    ordinary = {name: colds[name] for name in built}
    return {
        "tables": [
            tables.cold_starts(colds),
            tables.steps(colds),
            tables.sizes(sizes),
            tables.memory(ordinary),
            tables.growth(OURS, grown),
        ],
        "ratios": {
            "cold_start_deployed": tables.ratio(colds[f"{OURS}{WITHOUT}"], colds[REFERENCE], lambda cold: cold.total),
            "cold_start": tables.ratio(colds[OURS], colds[REFERENCE], lambda cold: cold.total),
            "cold_start_no_auto_completion": tables.ratio(
                colds[f"{OURS}{WITHOUT}"], colds[f"{REFERENCE}{WITHOUT}"], lambda cold: cold.total
            ),
            "cold_start_processor_time": tables.ratio(colds[OURS], colds[REFERENCE], lambda cold: cold.processor),
            "archive_without_weights": round(sizes[REFERENCE].without_weights / sizes[OURS].without_weights, 2),
        },
    }


def _built(name: str) -> Built:
    places = Places(ENSEMBLES, BUILD, DIST)
    return build(ENSEMBLES / name, CPU, places, allow_random=True, weights_dir=None, progress=print)


def _versions() -> dict[str, str]:
    return {"tritonserver": VERSION, "python": platform.python_version()}


if __name__ == "__main__":
    main()
