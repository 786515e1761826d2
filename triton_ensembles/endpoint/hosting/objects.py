"""Archives downloaded from S3."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import boto3.exceptions
import botocore.exceptions
from boto3.s3.transfer import TransferConfig
from s3transfer.exceptions import S3DownloadFailedError

from triton_ensembles.ground.errors import EnsembleError

_TRANSFER = TransferConfig(max_concurrency=4)  # ranges of 8 MB, each tried up to five times


class ObjectMissing(EnsembleError):  # noqa: N818
    """The object or its bucket does not exist."""


class DownloadFailed(EnsembleError):  # noqa: N818
    """The object exists, but could not be downloaded completely."""


def split_url(url: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``."""
    scheme, _, path = url.partition("://")
    bucket, _, key = path.partition("/")
    if scheme != "s3" or not bucket or not key:
        raise ObjectMissing(f"'{url}' is not the URL of an S3 object", cure="write it as s3://bucket/key")
    return bucket, key


class S3Objects:
    """Objects of an S3 server by their ``s3://bucket/key`` URLs, read through a boto3 client (which threads may share).

    Raises ObjectMissing, DownloadFailed, or OSError when the destination cannot be written.
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
                raise DownloadFailed(f"the download of '{url}' was canceled")

        def download() -> None:
            self._client.download_file(bucket, key, str(destination), Config=_TRANSFER, Callback=check_canceled)

        try:
            await _in_thread(url, download)
        except asyncio.CancelledError:
            canceled.set()  # the thread cannot be canceled, but it checks this
            raise


T = TypeVar("T")


async def _in_thread(url: str, work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except botocore.exceptions.ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("404", "NoSuchKey", "NoSuchBucket"):
            raise ObjectMissing(f"the object '{url}' does not exist", cure="upload it, or correct the name") from None
        raise DownloadFailed(f"'{url}' cannot be read: {code}: {error.response['Error'].get('Message', '')}") from None
    except S3DownloadFailedError:  # a part has another ETag than the whole had
        message = f"'{url}' was replaced by another object while it was downloaded"
        raise DownloadFailed(message, cure="try again: then the new one is downloaded") from None
    except (botocore.exceptions.BotoCoreError, boto3.exceptions.Boto3Error) as error:
        raise DownloadFailed(f"'{url}' could not be downloaded: {error}") from error
