"""Trains many networks for the ensemble digits, each on digits of its own, and writes the table for clone --variants.

    python build.py build digits
    python examples/digit_variants.py build/variants --count 1000
    python build.py clone digits --variants build/variants/variants.csv --output dist/variants

Each network has a seed of its own, and sees another four fifths of the training set. So their scores differ, and an
answer says which network gave it. The same count gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.train_digits import MODEL, onnx_of, train

SHARE = 0.8
TABLE = "variants.csv"


def write_network(folder: Path, seed: int) -> str:
    """Train the network of ``seed`` and write it into a folder of its own. Returns the variant's name."""
    name = f"digits_{seed:04}"
    path = folder / name / MODEL
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(onnx_of(train(seed, SHARE)))
    return name


def write_variants(folder: Path, count: int) -> Path:
    """Train ``count`` networks, in as many processes as there are cores, and write their table."""
    with ProcessPoolExecutor() as processes:
        names: Sequence[str] = list(processes.map(write_network, [folder] * count, range(count), chunksize=8))
    table = folder / TABLE
    with table.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["name", "files"])
        rows.writerows([name, name] for name in names)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where to write the networks and the table")
    parser.add_argument("--count", type=int, default=1000, help="networks (1000)")
    arguments = parser.parse_args()
    print(write_variants(arguments.folder, arguments.count))


if __name__ == "__main__":
    main()
