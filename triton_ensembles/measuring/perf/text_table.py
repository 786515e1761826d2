"""Tables for a terminal."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, last_is_text: bool = False) -> str:
    """Rows of equal length, a line each, their cells to the right; those of a last column of text to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if last_is_text:
        widths[-1] = 0
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
