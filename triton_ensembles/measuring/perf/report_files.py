"""What reports share: tables for a terminal, and the three files NAME.csv, NAME.json and NAME.png."""

import csv
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from triton_ensembles.ground.files import write_whole

SUFFIXES = (".csv", ".json", ".png")


def aligned(rows: Sequence[Sequence[str]], *, first_is_text: bool = False, last_is_text: bool = False) -> str:
    """Rows of equal length, a line each, their cells to the right; those of a column of text to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if last_is_text:
        widths[-1] = 0
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        if first_is_text:
            cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_report(
    name: str, output: Path, rows: Sequence[Sequence[str]], document: dict[str, Any], draw: Callable[[Path], None]
) -> list[Path]:
    """Write the three files into the folder ``output``; each replaces its predecessor when all are complete.

    Args:
        rows: of the CSV file, the header first.
        document: what the JSON file holds.
        draw: writes the plot to a path.
    """
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / f"{name}{suffix}" for suffix in SUFFIXES]
    with ExitStack() as files:
        table, facts, plot = (files.enter_context(write_whole(path)) for path in paths)
        with table.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)
        facts.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(plot)
    return paths
