"""Writes the variants of a table, one after another; one that is wrong does not stop the others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.clone_texts import Changes, Replacement
from triton_ensembles.archive.clones import Original, read_original
from triton_ensembles.building.variants.archive_places import ArchivePlaces
from triton_ensembles.building.variants.checked import Checks
from triton_ensembles.building.variants.own_files import Buckets, Identity, OwnFiles, own_files
from triton_ensembles.building.variants.state import DOWNLOADED, VariantsState, remove_leftovers
from triton_ensembles.building.variants.table import Row, Table
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import digest, file_digest
from triton_ensembles.paths import PACKAGE
from triton_ensembles.progress import Progress

# What decides the bytes of a variant besides its inputs.
_CODE = ("archive/clones.py", "archive/clone_texts.py", "archive/model_names.py", "archive/write.py")


@dataclass(frozen=True)
class Variant:
    """What became of a row.

    Attributes:
        archive: where it is, or would be; an older one may be there if there is a ``fault``.
        size: in bytes.
        changed: whether it was written now.
        random: whether it has random weights of the original.
        fault: why not, with the places and the cures; "" if all is well.
    """

    row: Row
    archive: Path
    size: int = 0
    changed: bool = False
    random: bool = False
    fault: str = ""


def write_variants(archive: Path, table: Table, folder: Path, progress: Progress) -> Generator[Variant, None, None]:
    """Write a variant of ``archive`` for each row into ``folder``; yield what became of it.

    A row whose files, parameters and archive are as they were is left alone.

    Raises:
        EnsembleError: the archive cannot be cloned or has faults of its own, a column names no step of it, or the
            variants do not fit on the disk.
    """
    with (
        read_original(archive, folder, progress) as original,
        tempfile.TemporaryDirectory(dir=folder, prefix=DOWNLOADED.format(os.getpid())) as scratch,
    ):
        writer = _Writer(original, table, Path(scratch), progress)
        try:
            for row in table.rows:
                yield writer.variant(row)
        finally:  # what is complete stays, also after Ctrl-C
            writer.state.save()


class _Writer:
    """Writes the rows of one table."""

    def __init__(self, original: Original, table: Table, scratch: Path, progress: Progress) -> None:
        self._original, self._table, self._scratch = original, table, scratch
        self._places, self._buckets = ArchivePlaces(original), Buckets()
        self._columns = {column: self._step_and_key(column) for column in table.columns}
        progress(f"checking {original.archive.name}")
        self._checks = Checks.of(original)
        remove_leftovers(original.folder)
        paths = [self._path(row) for row in table.rows if not row.fault]
        original.refuse_without_space(sum(not path.exists() for path in paths))
        self._common = [file_digest(original.archive), *(file_digest(PACKAGE / path) for path in _CODE)]
        self.state = VariantsState.read(original.folder, original.names.top or original.archive.name)

    def variant(self, row: Row) -> Variant:
        path = self._path(row)
        try:
            if row.fault:
                raise EnsembleError(row.fault)
            self._original.refuse_itself(path)
            return self._written(row, path)
        except EnsembleError as error:
            return Variant(row, path, fault=str(error))
        finally:
            for downloaded in self._scratch.iterdir():
                downloaded.unlink()

    def _written(self, row: Row, path: Path) -> Variant:
        """The archive, which is written unless it is there as it was written from the same inputs.

        Raises:
            EnsembleError: the row's files cannot be used, or check finds errors in the archive.
        """
        place = own_files(row.files, self._table.path, self._buckets) if row.files else None
        own = self._own(row, place) if place else []
        parameters = self._parameters(row)
        inputs = digest([*self._common, row.name, {each.path: each.sha256 for each in own}, parameters])
        changed = not self.state.is_current(row.name, inputs, path)
        if changed:
            files = {each.path: each.replacement(self._scratch) for each in own}
            changes = Changes(row.name, files, parameters, self._places.left_out(files))
            self._checks.refuse_faults(changes, path)
            self._original.write(changes, path)
            self.state.note(row.name, inputs, path, {each.inner: (each.identity, each.sha256) for each in own})
        random = bool(self._places.random - {each.path for each in own})
        return Variant(row, path, path.stat().st_size, changed, random)

    def _own(self, row: Row, place: OwnFiles) -> list[_Own]:
        found: dict[str, _Own] = {}
        for inner, identity in place.listed():
            path, fetched = self._places.file(inner), None
            if path in found:
                raise EnsembleError(f"{inner!r} and {found[path].inner!r} are the same file", cure="remove one")
            sha256 = self.state.known_digest(row.name, inner, identity)
            if sha256 is None:
                fetched = place.fetched(inner, self._scratch)
                sha256 = _digest(fetched)
            found[path] = _Own(place, inner, identity, path, sha256, fetched)
        if not found:
            raise EnsembleError(
                f"there is no file in {row.files!r}", cure="put the files there, in folders as those of the archive"
            )
        return list(found.values())

    def _parameters(self, row: Row) -> dict[str, dict[str, str]]:
        """By step, those that the row sets."""
        found: dict[str, dict[str, str]] = {}
        for column, value in row.parameters.items():
            step, key = self._columns[column]
            found.setdefault(step, {})[key] = value
        return found

    def _step_and_key(self, column: str) -> tuple[str, str]:
        try:
            return self._places.parameter(column)
        except EnsembleError as error:
            raise EnsembleError(error.message, path=self._table.path, line=1, cure=error.cure) from None

    def _path(self, row: Row) -> Path:
        return self._original.folder / f"{row.name}.tar.gz"


@dataclass(frozen=True)
class _Own:
    """A file of a row.

    Attributes:
        inner: its path in the row's folder.
        path: of the one in the archive that it replaces.
        fetched: where it is on this machine, if it was needed already.
    """

    place: OwnFiles
    inner: str
    identity: Identity
    path: str
    sha256: str
    fetched: Path | None

    def replacement(self, scratch: Path) -> Replacement:
        path = self.fetched or self.place.fetched(self.inner, scratch)
        return Replacement(path, int(self.identity[0]), self.sha256)


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise EnsembleError(f"this cannot be read: {error.strerror}", path=path) from error
