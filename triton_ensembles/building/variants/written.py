"""Writes the variants of a table, one after another; one that is wrong does not stop the others."""

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.clone_texts import Changes
from triton_ensembles.archive.clones import Original, read_original
from triton_ensembles.building.variants.archive_places import ArchivePlaces
from triton_ensembles.building.variants.checked import Checks
from triton_ensembles.building.variants.row_inputs import RowInputs, RowReader
from triton_ensembles.building.variants.state import VariantsState
from triton_ensembles.building.variants.table import Row, Table
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, remove_abandoned
from triton_ensembles.ground.paths import PACKAGE
from triton_ensembles.ground.progress import Progress

# What decides the bytes of a variant besides its inputs.
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


def write_variants(archive: Path, table: Table, folder: Path, progress: Progress) -> Generator[Variant, None, None]:
    """Write a variant of ``archive`` for each row into ``folder``; yield what became of it. A row whose files,
    parameters and archive are as they were is left alone. Raises :class:`EnsembleError`: the archive cannot be cloned
    or has faults of its own, a column names no step of it, or the variants do not fit on the disk."""
    with (
        read_original(archive, folder, progress) as original,
        tempfile.TemporaryDirectory(dir=folder, prefix=".downloaded.", suffix=f".{os.getpid()}.partial") as scratch,
    ):
        writer = _Writer(original, table, Path(scratch), progress)
        try:
            with closing(writer.reader.rows()) as rows:
                for row, inputs in rows:
                    yield writer.variant(row, inputs)
        finally:  # what is complete stays, also after Ctrl-C
            writer.state.save()


class _Writer:
    """Writes the rows of one table."""

    def __init__(self, original: Original, table: Table, scratch: Path, progress: Progress) -> None:
        self._original, self._places = original, ArchivePlaces(original)
        self.state = VariantsState.read(original.folder, original.names.top or original.archive.name)
        common = [file_digest(original.archive), *(file_digest(PACKAGE / path) for path in _CODE)]
        self.reader = RowReader(table, self._places, self.state, common, self._path, scratch)
        progress(f"checking {original.archive.name}")
        self._checks = Checks.of(original)
        remove_abandoned(original.folder.glob(".*.partial"))
        paths = [self._path(row) for row in table.rows if not row.fault]
        original.refuse_without_space(sum(not path.exists() for path in paths))

    def variant(self, row: Row, read_inputs: Callable[[], RowInputs]) -> Variant:
        path = self._path(row)
        try:
            if row.fault:
                raise EnsembleError(row.fault)
            self._original.refuse_itself(path)
            inputs = read_inputs()
            if not inputs.is_current:
                changes = Changes(row.name, inputs.files, inputs.parameters, self._places.left_out(inputs.files))
                self._checks.refuse_faults(changes, path)
                self._original.write(changes, path)
                self.state.note(row.name, inputs.digest, path, inputs.known)
        except EnsembleError as error:
            return Variant(row, path, fault=str(error))
        random = bool(self._places.random - inputs.replaced)
        return Variant(row, path, path.stat().st_size, not inputs.is_current, random)

    def _path(self, row: Row) -> Path:
        return self._original.folder / f"{row.name}.tar.gz"
