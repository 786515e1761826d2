"""Cold start, archive size and memory: the ensembles against the reference, alternately, in one run.

    python -m benchmarks.start [--rounds 3] [--json reports/bench/start.json]

A cold start is what SageMaker does for the first request of a model: unpack the archive, POST /models, infer. Each one
gets its own empty tritonserver, started before timing begins. Every archive is measured with the flags that SageMaker's
own script gives (with auto-completion of configs, as AWS's example is deployed), and without auto-completion, which a
variable of the container switches off (SAGEMAKER_TRITON_ADDITIONAL_ARGS=--disable-auto-complete-config, as build.py
deploy sets it). Files are in the page cache; the download is not included.

The first run builds the reference's environment, which holds torch: some minutes, and 4 GB of disk for a while.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import start_tables as tables
from benchmarks.engines import find_step
from benchmarks.examples import photograph, sentences
from benchmarks.reference.build import built_reference
from benchmarks.results import facts_of
from benchmarks.start_cold import NO_AUTO_COMPLETE, ColdStart, cold_start
from benchmarks.start_growth import grow
from benchmarks.tables import Table, plain
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.build import Built, build
from triton_ensembles.building.places import PLACES
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import write_whole
from triton_ensembles.paths import REPORTS
from triton_ensembles.triton.targets import CPU

OURS, IMAGES, REFERENCE = "bert_trt", "dali_inception", "bert_reference"
WITHOUT = ", no auto-completion"
# ext4 keeps the inodes of deleted files for 5 s and searches long for others meanwhile: the round before deleted many.
_PAUSE = 6.0


def measure(rounds: int, clones: tuple[int, ...] = (1, 4, 16)) -> dict[str, Any]:
    """``tables`` and ``ratios``. Raises :class:`EnsembleError` when something cannot be built or does not load."""
    built = {name: _built(name) for name in (OURS, IMAGES)} | {REFERENCE: built_reference(print)}
    text = sentences(["A cat sleeps on the sofa."])
    payloads = {OURS: text, REFERENCE: text, IMAGES: photograph(IMAGES)}
    colds: dict[str, list[ColdStart]] = {f"{name}{end}": [] for name in built for end in ("", WITHOUT)}
    for number in range(1, rounds + 1):
        for title, found in colds.items():
            name, without, _ = title.partition(WITHOUT)
            time.sleep(_PAUSE)
            found.append(cold_start(built[name].archive, payloads[name], NO_AUTO_COMPLETE if without else ""))
            print(f"round {number} of {rounds}: {title} answered after {found[-1].total:.2f} s", flush=True)
    print(f"clones of {OURS}", flush=True)
    grown = list(grow(built[OURS].archive, text, clones, seconds=5, rounds=rounds))
    sizes = {name: (each.archive.stat().st_size, size_without_weights(each.repository)) for name, each in built.items()}
    made = [
        tables.cold_starts(colds),
        tables.sizes(sizes),
        tables.memory({name: colds[name] for name in built}),
        tables.growth(OURS, grown),
    ]
    deployed, ours, reference = colds[f"{OURS}{WITHOUT}"], colds[OURS], colds[REFERENCE]
    ratios = {
        "cold_start_deployed": tables.ratio(deployed, reference),
        "cold_start": tables.ratio(ours, reference),
        "archive_without_weights": round(sizes[REFERENCE][1] / sizes[OURS][1], 2),
    }
    return {"tables": [asdict(table) for table in made], "ratios": ratios}


def size_without_weights(repository: Path) -> int:
    """Bytes of the archive of ``repository``, packed again without the file that its engine runs."""
    weights = find_step(repository).file
    with tempfile.TemporaryDirectory(dir=repository.parent) as folder:
        tree, archive = Path(folder) / "tree", Path(folder) / "archive.tar.gz"
        shutil.copytree(repository, tree, copy_function=os.link)
        (tree / weights.relative_to(repository)).unlink()
        write_archive(tree, archive)
        return archive.stat().st_size


def _built(name: str) -> Built:
    return build(PLACES.ensembles / name, CPU, PLACES, allow_random=True, weights_dir=None, progress=print)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    parser.add_argument("--json", type=Path, default=REPORTS / "bench" / "start.json", help="where the results go")
    arguments = parser.parse_args()
    try:
        result = facts_of(f"python -m benchmarks.start --rounds {arguments.rounds}") | measure(arguments.rounds)
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(arguments.json) as partial:
        partial.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for table in result["tables"]:
        print(f"\n{plain(Table(**table))}")
    print(f"\nratios {result['ratios']}\n{arguments.json}")


if __name__ == "__main__":
    main()
