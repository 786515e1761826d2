"""Parts of multipart uploads that the local S3 copies from other objects, with S3's conditions and limits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.endpoint.conftest import BUCKET, refused

BYTES = bytes(range(256)) * (6 << 12)  # 6 MiB
SOURCE = {"Bucket": BUCKET, "Key": "sources/a b+ü"}


@pytest.fixture
def copy(s3: Any) -> Callable[..., Any]:
    """``copy(1, CopySourceRange=…)``: copy a part of the source into a new upload."""
    s3.put_object(**SOURCE, Body=BYTES)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="copied")
    where = {"Bucket": BUCKET, "Key": "copied", "UploadId": upload["UploadId"]}

    def copy(number: int, **more: Any) -> dict[str, Any]:
        result = s3.upload_part_copy(**where, PartNumber=number, **{"CopySource": SOURCE} | more)["CopyPartResult"]
        return {"PartNumber": number, "ETag": result["ETag"]}

    copy.where = where  # type: ignore[attr-defined]
    return copy


def test_an_object_is_made_of_parts_of_others(s3: Any, copy: Any) -> None:
    """The last part may be short. Each part's ETag is the MD5 of its bytes, as S3 has it without KMS."""
    etag = s3.head_object(**SOURCE)["ETag"]
    parts = [copy(1, CopySourceIfMatch=etag), copy(2, CopySourceRange="bytes=10-19", CopySourceIfMatch=etag)]
    s3.complete_multipart_upload(**copy.where, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket=BUCKET, Key="copied")["Body"].read() == BYTES + BYTES[10:20]
    assert parts[1]["ETag"].strip('"') == hashlib.md5(BYTES[10:20]).hexdigest()


@pytest.mark.parametrize(
    ("request_of", "code"),
    [
        ({"CopySourceIfMatch": '"0"'}, "PreconditionFailed"),
        ({"CopySourceIfNoneMatch": '"0"'}, "NotImplemented"),
        ({"CopySourceRange": f"bytes=0-{len(BYTES)}"}, "InvalidArgument"),
        ({"CopySourceRange": "bytes=9-8"}, "InvalidArgument"),
        ({"CopySource": {"Bucket": BUCKET, "Key": "sources/missing"}}, "NoSuchKey"),
    ],
)
def test_what_s3_refuses_is_refused(copy: Any, request_of: dict[str, Any], code: str) -> None:
    """Otherwise an upload that works here would end halfway on AWS."""
    assert refused(copy, number=1, **request_of)[0] == code


def test_parts_are_completed_in_their_order(s3: Any, copy: Any) -> None:
    parts = [copy(1), copy(2)]
    for wrong in (parts[::-1], [parts[0], parts[0]]):
        complete = {**copy.where, "MultipartUpload": {"Parts": wrong}}
        assert refused(s3.complete_multipart_upload, **complete)[0] == "InvalidPartOrder"
    s3.complete_multipart_upload(**copy.where, MultipartUpload={"Parts": parts})


def test_several_programs_may_complete_the_same_upload(s3: Any, copy: Any) -> None:
    """As on AWS, where the call may be repeated: two runs of ``upload`` may fill the same."""
    parts = {"Parts": [copy(1)]}
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(s3.complete_multipart_upload, **copy.where, MultipartUpload=parts) for _ in range(3)]
    assert len({call.result()["ETag"] for call in calls}) == 1
    assert s3.get_object(Bucket=BUCKET, Key="copied")["Body"].read() == BYTES
