"""Tables as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table as text. ``note`` is a sentence or two below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def markdown(table: Table) -> str:
    """The table below its title, a heading of the second level."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    note = f"\n\n{table.note}" if table.note else ""
    return f"## {table.title}\n\n{body}{note}\n"
