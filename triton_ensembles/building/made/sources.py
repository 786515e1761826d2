"""Fetches the files of a recipe's source. Each is verified by its sha256.

The places are tried in order: the folder that the user names, then those of the recipe (the hub at a pinned revision, a
package, a public address, a bucket). A downloaded file is kept under its sha256 and never downloaded again. A file that
the recipe names by its path is read where it lies, and before what is kept: a changed one is never overlooked.
"""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from triton_ensembles.building.made.source_places import (
    DOWNLOADS,
    Download,
    MissingError,
    UnreachableError,
    from_folder,
    from_path,
)
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, locked, write_whole
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.toml_tables import line_naming
from triton_ensembles.project.recipe.source import PathPlace, Source


class SourceError(EnsembleError):
    """The source's file ``file`` cannot be used."""

    file = ""


class SourceUnavailableError(SourceError):
    """No place has the file: there is no network, an address has moved, or every copy has a wrong sha256."""


class _ChangedError(MissingError):
    """A file that the recipe names by its path has another sha256, ``actual``."""

    def __init__(self, message: str, actual: str) -> None:
        super().__init__(message)
        self.actual = actual


@dataclass
class Sources:
    """The sources of a run, which may build several ensembles. Each is looked for once, whether it is found or not."""

    folder: Path | None  # the one that the user names (WEIGHTS_DIR): it has <name>/<file> or <file>
    cache: Path  # where downloaded files are kept, under their sha256
    _found: dict[str, dict[str, Path] | EnsembleError] = field(default_factory=dict)

    def files(self, name: str, source: Source, recipe: Path, root: Path, progress: Progress) -> dict[str, Path]:
        """The files on this machine, by file name, of ``source``, which ``recipe`` calls ``name``. Paths are relative
        to ``root``, the folder of the project.

        Raises:
            SourceUnavailableError: with the reason of each place that was tried.
            SourceError: the recipe names a file by its path whose content has changed, and no other place has it.
        """
        key = f"{name} {source.model_dump_json()}"
        if key not in self._found:
            try:
                self._found[key] = self._fetched(name, source, root, progress)
            except EnsembleError as error:
                self._found[key] = error
        known = self._found[key]
        if isinstance(known, EnsembleError):
            names = [name, known.file] if isinstance(known, SourceError) else [name]
            line = line_naming(recipe.read_text(encoding="utf-8"), names)
            raise type(known)(known.message, path=recipe, line=line, cure=known.cure)
        return known

    def _fetched(self, name: str, source: Source, root: Path, progress: Progress) -> dict[str, Path]:
        files: dict[str, Path] = {}
        reasons: dict[str, list[tuple[str, MissingError]]] = {file: [] for file in source.files}
        with locked(self.cache / f"{name}.lock", progress):
            for file, sha256 in source.files.items():
                near = chain(_at_paths(source, file, root), [self.cache / sha256])
                if path := next((kept for kept in near if kept.is_file() and file_digest(kept) == sha256), None):
                    files[file] = path
            for place, download, stays in _places(name, source, self.folder, root):
                missing = [file for file in source.files if file not in files]
                if not missing:
                    break
                progress(f"{name}: looking for {', '.join(missing)} in {place}")
                with tempfile.TemporaryDirectory(dir=self.cache, prefix="fetching-") as scratch:
                    for file in missing:
                        try:
                            path = download(file, Path(scratch), progress)
                            _verify(path, file, source.files[file], stays=stays)
                        except UnreachableError as reason:
                            for unreached in missing:
                                reasons[unreached].append((place, reason))
                            break
                        except MissingError as reason:
                            reasons[file].append((place, reason))
                            continue
                        files[file] = path if stays else self.cache / source.files[file]
                        if not stays:
                            with write_whole(files[file]) as kept:
                                shutil.copyfile(path, kept)
                        progress(f"{name}/{file}: {files[file].stat().st_size / 1e6:.1f} MB from {place}")
        for file in source.files:
            if file not in files:
                raise _unavailable(name, source, file, reasons[file])
        return files


def changed_files(source: Source, root: Path) -> dict[str, str]:
    """The sha256 of each file that lies at a path of the source and is not the one that the recipe has. What is not
    there, such as on a drive that is not mounted, does not count."""
    return {
        str(path): actual
        for file, sha256 in source.files.items()
        for path in _at_paths(source, file, root)
        if (actual := file_digest(path)) != sha256
    }


def _at_paths(source: Source, file: str, root: Path) -> Iterator[Path]:
    """The file at each path of the source that has one."""
    for place in source.places:
        if isinstance(place, PathPlace):
            try:
                yield from_path(place, root, file)
            except MissingError:
                continue


def _verify(path: Path, file: str, sha256: str, *, stays: bool) -> None:
    if (actual := file_digest(path)) == sha256:
        return
    message = f"the sha256 of {file} is {actual[:12]}…, and the recipe has {sha256[:12]}…"
    raise _ChangedError(message, actual) if stays else MissingError(message)


def _unavailable(name: str, source: Source, file: str, reasons: list[tuple[str, MissingError]]) -> SourceError:
    failure = "could not be downloaded" if source.has_address else "cannot be used"
    why = "; ".join(f"{place}: {reason}" for place, reason in reasons)
    kind: type[SourceError] = SourceUnavailableError
    cure = "put the file into a folder and set WEIGHTS_DIR to it (make), or name it by --weights-dir"
    if changed := next((reason for _, reason in reasons if isinstance(reason, _ChangedError)), None):
        kind, cure = SourceError, f'if it is the right file, write "{file}" = "{changed.actual}" into the recipe'
    elif not source.has_address:
        cure = f"put the file there, or correct the path; or {cure}"
    error = kind(f"the source file {name}/{file} {failure} ({why})", cure=cure)
    error.file = file
    return error


def _places(name: str, source: Source, folder: Path | None, root: Path) -> Iterator[tuple[str, Download, bool]]:
    """The places in their order, and whether their files stay where they are."""
    if folder:
        yield f"folder {folder}", partial(from_folder, folder, name), False
    for place in source.places:
        if isinstance(place, PathPlace):
            yield str(place), partial(from_path, place, root), True
        else:
            yield str(place), partial(DOWNLOADS[type(place)], place), False
