"""The table of the clones: a CSV with a header, as a script or a spreadsheet writes it, or names alone."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.ground.tables import csv_rows

NAME, FILES = "name", "files"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")  # no dot: ``a.step`` is a step of the clone ``a``
_COLUMNS = f"the columns are {NAME}, {FILES}, and STEP.PARAMETER for each parameter of a step's config.pbtxt"


@dataclass(frozen=True)
class Row:
    """A clone."""

    line: int  # in the file, where the row begins; or its number among the names
    name: str
    files: str = ""  # a folder; "" for none
    parameters: Mapping[str, str] = field(default_factory=dict)  # those that the row sets, by column
    fault: str = ""  # why the row cannot be used, "" when it can; with what to do

    @property
    def differs(self) -> bool:
        """Return whether the clone differs from its original in more than its name."""
        return bool(self.files or self.parameters)


@dataclass(frozen=True)
class Table:
    """A table of clones."""

    rows: Sequence[Row]
    columns: Sequence[str] = ()  # of parameters, as the header has them
    path: Path = Path()  # of the file, if it is one


def clone_names(prefix: str, count: int) -> list[str]:
    """Return ``prefix_0000`` and so on, in the order in which they sort. Raises :class:`EnsembleError`: a clone cannot
    have such names."""
    digits = max(4, len(str(count - 1)))
    names = [f"{prefix}_{number:0{digits}}" for number in range(count)]
    if names and (fault := _fault_of_name(names[0])):
        raise EnsembleError(fault)
    return names


def table_of(names: Iterable[str]) -> Table:
    """Return the table of clones that have these names, and in which nothing else differs."""
    rows = [Row(number, name, fault=_fault_of_name(name)) for number, name in enumerate(names, 1)]
    return Table(_without_doubles(rows))


def read_table(path: Path) -> Table:
    """Read the table at ``path``, with the faults of its rows. Raises :class:`EnsembleError`: it is no CSV with a
    header."""
    records = csv_rows(path, ",;\t")  # what spreadsheets write, by country
    _, columns = next(records, (1, []))
    _refuse_header(path, columns)
    rows = [_row(line, columns, cells) for line, cells in records]
    if not rows:
        raise EnsembleError("this table has no row", path=path, cure="write a row for each clone below the header")
    parameters = [column for column in columns if column not in (NAME, FILES, "")]
    return Table(_without_doubles(rows), parameters, path)


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


def _row(line: int, columns: Sequence[str], cells: Sequence[str]) -> Row:
    values = dict(zip(columns, cells, strict=False))
    name, files = values.pop(NAME, ""), values.pop(FILES, "")
    parameters = {column: value for column, value in values.items() if column and value}
    row = Row(line, name, files, parameters)
    named = [value for column, value in zip(columns, cells, strict=False) if column]
    if sum(map(bool, cells)) > sum(map(bool, named)):
        return replace(row, fault="this row has more cells than the header; put what has a comma in it into quotes")
    fault = _fault_of_name(name)
    if not fault and not row.differs and any(column not in (NAME, "") for column in columns):
        fault = "this row changes nothing; name the folder of its files, or set a parameter"
    return replace(row, fault=fault)


def _fault_of_name(name: str) -> str:
    """Return why a clone cannot have this name, and what to do; "" when it can."""
    if _NAME.fullmatch(name):
        return ""
    message = f"{name!r} is not a name that a clone can have" if name else "this row has no name"
    return f"{message}; use up to 100 letters, digits, _ and -, beginning with a letter or a digit"


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
