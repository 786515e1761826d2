"""Writes the clones of a table, one after another; one that is wrong does not stop the others.

``.ENSEMBLE.variants.json`` beside them says what each was written from, so that only what has changed is written again.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.clone_texts import Changes, Replacement
from triton_ensembles.archive.clones import Original, read_original
from triton_ensembles.building.variants.archive_places import ArchivePlaces
from triton_ensembles.building.variants.own_files import own_files, reading
from triton_ensembles.building.variants.table import Row, Table, table_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest, file_digest, parse_json, remove_abandoned, write_file
from triton_ensembles.ground.paths import PACKAGE
from triton_ensembles.ground.progress import Progress

# What decides the bytes of a clone besides its inputs.
_CODE = tuple(f"archive/{module}.py" for module in ("clones", "clone_texts", "model_names", "write"))


@dataclass(frozen=True)
class Variant:
    """Result of a row."""

    row: Row
    archive: Path  # where it is, or would be; an older one may be there if there is a `fault`
    size: int = 0  # in bytes
    changed: bool = False  # whether it was written now
    random: bool = False  # whether it has random weights of the original
    fault: str = ""  # why not, with the places and the cures; "" if all is well


def clone(archive: Path, names: Iterable[str], folder: Path, progress: Progress = lambda _: None) -> Iterator[Path]:
    """Write a clone of ``archive`` for each name into ``folder``; yield each path once it is complete.
    Raises as :func:`write_variants`, and :class:`EnsembleError`: a clone cannot have one of these names."""
    for variant in write_variants(archive, table_of(names), folder, progress):
        if variant.fault:
            raise EnsembleError(variant.fault)
        yield variant.archive


def write_variants(archive: Path, table: Table, folder: Path, progress: Progress) -> Generator[Variant, None, None]:
    """Write a clone of ``archive`` for each row into ``folder``; yield what became of it. A row whose files, parameters
    and archive are as they were is left alone. Raises :class:`EnsembleError`: the archive cannot be cloned, a column
    names no step of it, it has faults of its own while rows have files or parameters, or the clones do not fit on the
    disk."""
    with read_original(archive, folder, progress) as original:
        writer = _Writer(original, table, progress)
        try:
            for row in table.rows:
                yield writer.variant(row)
        finally:  # what is complete stays, also after Ctrl-C
            writer.save()


class _Writer:
    """Writes the rows of one table."""

    def __init__(self, original: Original, table: Table, progress: Progress) -> None:
        self._original, self._table, self._places = original, table, ArchivePlaces(original)
        self._columns = {column: self._places.parameter(column, table.path) for column in table.columns}
        self._common = [file_digest(original.archive), *(file_digest(PACKAGE / path) for path in _CODE)]
        self._state_file = original.folder / f".{original.names.top or original.archive.name}.variants.json"
        self._state = _read_state(self._state_file)
        self._checks = None
        if any(row.differs for row in table.rows):
            from triton_ensembles.building.variants.checked import Checks  # it imports the rules of check

            progress(f"checking {original.archive.name}")
            self._checks = Checks.of(original)
        remove_abandoned(original.folder.glob(".*.partial"))
        paths = [self._path(row) for row in table.rows if not row.fault]
        original.refuse_without_space(sum(not path.exists() for path in paths))

    def variant(self, row: Row) -> Variant:
        """Write the archive of a row, unless it is there as it was written from the same inputs."""
        path = self._path(row)
        try:
            if row.fault:
                raise EnsembleError(row.fault)
            self._original.refuse_itself(path)
            with reading():
                files = self._files(row)
                stamps = {inner: _stamp(file) for inner, file in files.items()}
            parameters: dict[str, dict[str, str]] = {}
            for column, value in row.parameters.items():
                step, key = self._columns[column]
                parameters.setdefault(step, {})[key] = value
            inputs = digest([*self._common, row.name, stamps, parameters])
            current = path.exists() and self._state.get(row.name) == [inputs, _stamp(path)]
            if not current:
                self._write(row.name, files, parameters, path)
                self._state[row.name] = [inputs, _stamp(path)]
        except EnsembleError as error:
            return Variant(row, path, fault=str(error))
        random = bool(self._places.random - files.keys())
        return Variant(row, path, path.stat().st_size, not current, random)

    def save(self) -> None:
        write_file(self._state_file, json.dumps(self._state, sort_keys=True))

    def _write(
        self, name: str, files: Mapping[str, Path], parameters: Mapping[str, Mapping[str, str]], path: Path
    ) -> None:
        with reading():
            own = {inner: Replacement(file, file.stat().st_size, file_digest(file)) for inner, file in files.items()}
        changes = Changes(name, own, parameters, self._places.left_out(own))
        if self._checks and (files or parameters):
            self._checks.refuse_faults(changes, path)
        self._original.write(changes, path)

    def _files(self, row: Row) -> dict[str, Path]:
        """The files of a row by the path in the archive of what they replace. Raises :class:`EnsembleError`."""
        files: dict[str, Path] = {}
        own = own_files(row.files, self._table.path) if row.files else {}
        for inner, file in own.items():
            path = self._places.file(inner)
            if path in files:
                raise EnsembleError(f"{inner!r} is there twice, also with the step's whole name", cure="remove one")
            files[path] = file
        return files

    def _path(self, row: Row) -> Path:
        return self._original.folder / f"{row.name}.tar.gz"


def _read_state(path: Path) -> dict[str, object]:
    """Return what each variant was written from, by name: the digest of its inputs, and the stamp of its archive."""
    try:
        state = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _stamp(file: Path) -> list[int]:
    """Return what changes with the content of a file, and costs no reading of it."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]
