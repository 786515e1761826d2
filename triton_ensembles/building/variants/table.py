"""The table of the variants: a CSV with a header, as a script or a spreadsheet writes it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from triton_ensembles.archive.clones import is_clone_name
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.ground.tables import csv_rows

NAME, FILES = "name", "files"
_COLUMNS = f"the columns are {NAME}, {FILES}, and STEP.PARAMETER for each parameter of a step's config.pbtxt"


@dataclass(frozen=True)
class Row:
    """A variant."""

    line: int  # in the file, where the row begins
    name: str
    files: str = ""  # a folder or an s3:// address; "" for none
    parameters: Mapping[str, str] = field(default_factory=dict)  # those that the row sets, by column
    fault: str = ""  # why the row cannot be used, "" when it can; with what to do


@dataclass(frozen=True)
class Table:
    """A table of variants."""

    path: Path
    columns: Sequence[str]  # of parameters, as the header has them
    rows: Sequence[Row]


def read_table(path: Path) -> Table:
    """The table at ``path``, with the faults of its rows. Raises :class:`EnsembleError`: it is no CSV with a header."""
    records = csv_rows(path, ",;\t")  # what spreadsheets write, by country
    _, columns = next(records, (1, []))
    _refuse_header(path, columns)
    rows = [_row(line, columns, cells) for line, cells in records]
    if not rows:
        raise EnsembleError("this table has no row", path=path, cure="write a row for each variant below the header")
    return Table(path, [column for column in columns if column not in (NAME, FILES, "")], _without_doubles(rows))


def _refuse_header(path: Path, columns: Sequence[str]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column and column not in (NAME, FILES) and not all(column.partition(".")):  # STEP.PARAMETER
            meant = nearest(column, (NAME, FILES))
            message = f"there is no column {column!r}: {_COLUMNS}"
            raise EnsembleError(message, path=path, line=1, cure=f"did you mean {meant}" if meant else "")
        if column in seen:
            raise EnsembleError(f"the column {column!r} is there twice", path=path, line=1, cure="remove one")
        seen |= {column} - {""}
    if NAME not in columns:
        raise EnsembleError(f"there is no column {NAME!r}: {_COLUMNS}", path=path, line=1, cure="begin with a header")
    if not any(column not in (NAME, "") for column in columns):
        message = f"this table has names only, and nothing that differs: {_COLUMNS}"
        cure = "add a column, or write equal clones with --count and --prefix"
        raise EnsembleError(message, path=path, line=1, cure=cure)


def _row(line: int, columns: Sequence[str], cells: Sequence[str]) -> Row:
    values = dict(zip(columns, cells, strict=False))
    name, files = values.pop(NAME, ""), values.pop(FILES, "")
    parameters = {column: value for column, value in values.items() if column and value}
    row = Row(line, name, files, parameters)
    named = [value for column, value in zip(columns, cells, strict=False) if column]
    if sum(map(bool, cells)) > sum(map(bool, named)):
        return replace(row, fault="this row has more cells than the header; put what has a comma in it into quotes")
    if not is_clone_name(name):
        message = f"{name!r} is not a name that a variant can have" if name else "this row has no name"
        cure = "use up to 100 letters, digits, _ and -, beginning with a letter or a digit"
        return replace(row, fault=f"{message}; {cure}")
    if not files and not parameters:
        return replace(row, fault="this row changes nothing; name the folder of its files, or set a parameter")
    return row


def _without_doubles(rows: Sequence[Row]) -> list[Row]:
    """Rows, of which those that share a name become faults."""
    lines = defaultdict(list)
    for row in rows:
        lines[row.name].append(row.line)
    faults = {
        row.line: f"{row.name!r} is also the name in line {line}; give each row a name of its own"
        for row in rows
        for line in reversed(lines[row.name][:2])
        if line != row.line
    }
    return [replace(row, fault=row.fault or faults.get(row.line, "")) for row in rows]
