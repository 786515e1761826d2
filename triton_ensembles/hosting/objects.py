"""Archives downloaded from S3, or taken from this machine."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import boto3.exceptions
import botocore.exceptions
from boto3.s3.transfer import TransferConfig
from s3transfer.exceptions import S3DownloadFailedError

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.archive_steps import is_model, steps_of
from triton_ensembles.hosting.errors import ValidationError

_TRANSFER = TransferConfig(max_concurrency=4)  # ranges of 8 MB, each tried up to five times


def split_url(url: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``."""
    scheme, _, path = url.partition("://")
    bucket, _, key = path.partition("/")
    if scheme != "s3" or not bucket or not key:
        raise ValidationError(f"'{url}' is not the URL of an S3 object", cure="write it as s3://bucket/key")
    return bucket, key


class Files:
    """Archives of this machine by their paths, and the folders of models.

    Raises HostingError, or OSError when the destination cannot be written.
    """

    async def size(self, url: str) -> int:
        """Bytes of the archive."""
        try:
            return Path(url).stat().st_size if Path(url).is_file() else 0
        except FileNotFoundError:
            raise faults.object_missing("", url) from None

    async def fetch(self, url: str, destination: Path) -> None:
        """Write the archive to ``destination``, or make a folder there with links to what is unpacked already."""
        source = Path(url)
        if source.is_dir():
            await asyncio.to_thread(_link_models, source, destination)
            return
        try:
            destination.hardlink_to(source)
        except FileNotFoundError:
            raise faults.object_missing("", url) from None
        except OSError:  # another file system
            await asyncio.to_thread(shutil.copyfile, source, destination)


def _link_models(source: Path, destination: Path) -> None:
    """Make a repository of links to a model and its steps beside it, or to all models in a folder. The models' folders
    themselves are none: Triton's front end for SageMaker (2.51.0) does not follow a link there."""
    destination.mkdir()
    if is_model(source):
        models = {source.name, *steps_of(source)}
        folders = [source.parent / name for name in sorted(models)]
    else:
        folders = [path for path in sorted(source.iterdir()) if is_model(path)]
    for folder in filter(Path.is_dir, folders):
        (destination / folder.name).mkdir()
        for path in folder.iterdir():
            (destination / folder.name / path.name).symlink_to(os.path.abspath(path))  # noqa: PTH100 - resolves no link


class S3Objects:
    """Objects of an S3 server by their ``s3://bucket/key`` URLs, read through a boto3 client (which threads may share).

    Raises HostingError, or OSError when the destination cannot be written.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def size(self, url: str) -> int:
        """Bytes of the object."""
        bucket, key = split_url(url)
        return await _in_thread(url, lambda: int(self._client.head_object(Bucket=bucket, Key=key)["ContentLength"]))

    async def fetch(self, url: str, destination: Path) -> None:
        """Write the object to ``destination``. After an error or a cancellation, the caller deletes what is there."""
        bucket, key = split_url(url)
        canceled = threading.Event()

        def check_canceled(_: int) -> None:
            if canceled.is_set():
                raise faults.not_downloaded(f"the download of '{url}' was canceled")

        def download() -> None:
            self._client.download_file(bucket, key, str(destination), Config=_TRANSFER, Callback=check_canceled)

        try:
            await _in_thread(url, download)
        except asyncio.CancelledError:
            canceled.set()  # the thread cannot be canceled, but it checks this
            raise


Objects = Files | S3Objects
T = TypeVar("T")


async def _in_thread(url: str, work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except botocore.exceptions.ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("404", "NoSuchKey", "NoSuchBucket"):
            raise faults.object_missing(*split_url(url)) from None
        reason = f"'{url}' cannot be read: {code}: {error.response['Error'].get('Message', '')}"
        raise faults.not_downloaded(reason) from None
    except S3DownloadFailedError:  # a part has another ETag than the whole had
        message = f"'{url}' was replaced by another object while it was downloaded"
        raise faults.not_downloaded(message, "try again: then the new one is downloaded") from None
    except (botocore.exceptions.BotoCoreError, boto3.exceptions.Boto3Error) as error:
        raise faults.not_downloaded(f"'{url}' could not be downloaded: {error}") from error
