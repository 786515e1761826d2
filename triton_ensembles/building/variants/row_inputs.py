"""Inputs of each row's archive. Files of a bucket are fetched for several rows ahead."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from triton_ensembles.archive.clone_texts import Replacement
from triton_ensembles.building.variants.archive_places import ArchivePlaces
from triton_ensembles.building.variants.own_files import S3, Buckets, Identity, OwnFiles, own_files
from triton_ensembles.building.variants.state import VariantsState
from triton_ensembles.building.variants.table import Row, Table
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest, file_digest

_AHEAD = 8  # rows: a bucket takes longer to begin an answer than to give a file of some kilobytes


@dataclass(frozen=True)
class RowInputs:
    """Inputs of one row."""

    digest: str  # of everything that decides the bytes of the archive
    parameters: Mapping[str, Mapping[str, str]]  # those that the row sets, by step
    known: Mapping[str, tuple[Identity, str]]  # identity and sha256 of each file, by its path in the row's folder
    replaced: frozenset[str]  # the paths in the archive of what the files replace
    files: Mapping[str, Replacement]  # the files themselves, by these paths; none where it is current
    is_current: bool  # whether the archive is there as it was written from them


@dataclass
class RowReader:
    """Reads the rows of one table. Raises :class:`EnsembleError`: a column names no step of the archive."""

    table: Table
    places: ArchivePlaces
    state: VariantsState
    common: Sequence[str]  # what decides the bytes of every archive
    path: Callable[[Row], Path]  # of the archive of a row
    scratch: Path  # a folder for downloads

    def __post_init__(self) -> None:
        self._buckets = Buckets()
        self._columns = {column: self._step_and_key(column) for column in self.table.columns}

    def rows(self) -> Generator[tuple[Row, Callable[[], RowInputs]], None, None]:
        """Rows of the table, each with a function that gives its inputs or raises :class:`EnsembleError`. Downloaded
        files are there until the next row is requested."""
        pool = ThreadPoolExecutor(_AHEAD)
        try:
            for row, inputs in self._begun(pool):
                yield row, inputs
                shutil.rmtree(self._downloads(row), ignore_errors=True)
        finally:  # after Ctrl-C, downloads that have not begun do not begin
            pool.shutdown(cancel_futures=True)

    def _begun(self, pool: ThreadPoolExecutor) -> Iterator[tuple[Row, Callable[[], RowInputs]]]:
        waiting: deque[tuple[Row, Callable[[], RowInputs]]] = deque()
        for row in self.table.rows:
            read = partial(self._read, row)
            is_far = row.files.startswith(S3) and not row.fault
            waiting.append((row, pool.submit(read).result if is_far else read))
            if len(waiting) > _AHEAD:
                yield waiting.popleft()
        yield from waiting

    def _read(self, row: Row) -> RowInputs:
        """Raises :class:`EnsembleError`: the row's files cannot be used."""
        place = own_files(row.files, self.table.path, self._buckets) if row.files else None
        own = self._own(row, place) if place else []
        parameters: dict[str, dict[str, str]] = {}
        for column, value in row.parameters.items():
            step, key = self._columns[column]
            parameters.setdefault(step, {})[key] = value
        inputs = digest([*self.common, row.name, {file.path: file.sha256 for file in own}, parameters])
        is_current = self.state.is_current(row.name, inputs, self.path(row))
        return RowInputs(
            inputs,
            parameters,
            {file.inner: (file.identity, file.sha256) for file in own},
            frozenset(file.path for file in own),
            {} if is_current else {file.path: file.replacement(self._downloads(row)) for file in own},
            is_current,
        )

    def _own(self, row: Row, place: OwnFiles) -> list[_Own]:
        files: dict[str, _Own] = {}
        for inner, identity in place.listed():
            path, fetched = self.places.file(inner), None
            if path in files:
                raise EnsembleError(f"{inner!r} and {files[path].inner!r} are the same file", cure="remove one")
            sha256 = self.state.known_digest(row.name, inner, identity)
            if sha256 is None:
                fetched = place.fetched(inner, self._downloads(row))
                try:
                    sha256 = file_digest(fetched)
                except OSError as error:
                    raise EnsembleError(f"this cannot be read: {error.strerror}", path=fetched) from error
            files[path] = _Own(place, inner, identity, path, sha256, fetched)
        if not files:
            message = f"there is no file in {row.files!r}"
            raise EnsembleError(message, cure="put the files there, in folders as those of the archive")
        return list(files.values())

    def _step_and_key(self, column: str) -> tuple[str, str]:
        try:
            return self.places.parameter(column)
        except EnsembleError as error:
            raise EnsembleError(error.message, path=self.table.path, line=1, cure=error.cure) from None

    def _downloads(self, row: Row) -> Path:
        return self.scratch / str(row.line)


@dataclass(frozen=True)
class _Own:
    """A file of a row."""

    place: OwnFiles
    inner: str  # its path in the row's folder
    identity: Identity
    path: str  # of the one in the archive that it replaces
    sha256: str
    fetched: Path | None  # where it is on this machine, if it was needed already

    def replacement(self, downloads: Path) -> Replacement:
        path = self.fetched or self.place.fetched(self.inner, downloads)
        return Replacement(path, int(self.identity[0]), self.sha256)
