"""Tables as text, for the page and for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table as text. ``note`` is a sentence or two below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def markdown(table: Table, level: int = 3) -> str:
    """With the title as a heading of this level."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    note = f"\n\n{table.note}" if table.note else ""
    return f"{'#' * level} {table.title}\n\n{body}{note}\n"


def plain(table: Table) -> str:
    """For a terminal."""
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join([table.title, *lines, *([table.note] if table.note else [])])
