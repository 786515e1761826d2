"""Tables that people and programs write, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text file, with their ends, one at a time. Raises :class:`EnsembleError`: it is not UTF-8."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not a text file in UTF-8", path=path, cure="save it as UTF-8") from error


def csv_rows(path: Path, delimiters: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The line in which each row begins, and its cells without the spaces around them; empty rows are left out.

    Args:
        delimiters: the possible ones, of which the first row decides.

    Raises:
        EnsembleError: it is not a CSV file in UTF-8.
    """
    first = next(filter(str.strip, lines_of(path)), "")
    reader = csv.reader(lines_of(path), delimiter=max(delimiters, key=first.count), strict=True)
    begin = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        cure = "look for a quotation mark without its partner"
        raise EnsembleError(f"this is not a CSV: {error}", path=path, line=begin, cure=cure) from None
