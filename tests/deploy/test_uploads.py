"""Archives in S3: uploaded once, never overwritten, and deleted without a trace."""

import threading
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import MakeArchive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.stored import delete_uploaded, stored_archives
from triton_ensembles.deploy.uploads import upload_archives
from triton_ensembles.ground.errors import EnsembleError


def keys(aws: Aws, place: S3Prefix) -> list[str]:
    return list(stored_archives(aws, place))


def test_uploading_twice_sends_once(aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str]) -> None:
    """The objects hold the archives' bytes and say what their weights are."""
    archives = [make_archive("one"), make_archive("two", weights="random")]
    assert upload_archives(aws, place, archives, lines.append).archives == 2
    assert upload_archives(aws, place, archives, lines.append).archives == 0
    assert keys(aws, place) == [each.key for each in archives]
    head = aws.s3.head_object(Bucket="some-bucket", Key=f"some-endpoint/{archives[1].key}")
    assert head["Metadata"] == {"made-by": "triton-ensembles", "sha256": archives[1].sha256, "weights": "random"}
    body = aws.s3.get_object(Bucket="some-bucket", Key=f"some-endpoint/{archives[1].key}")["Body"].read()
    assert body == archives[1].path.read_bytes()


def test_a_changed_archive_does_not_replace_the_old_one(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str]
) -> None:
    """Otherwise clients of the old archive would get the new model's answers, or errors."""
    old = make_archive("echo")
    upload_archives(aws, place, [old], lines.append)
    new = make_archive("echo", note="\n# changed\n")
    upload_archives(aws, place, [new], lines.append)
    assert sorted(keys(aws, place)) == sorted([old.key, new.key])


def test_only_what_was_uploaded_is_deleted(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str]
) -> None:
    """The bucket is deleted with it once it is empty."""
    archive = make_archive("echo")
    upload_archives(aws, place, [archive], lines.append)
    aws.s3.put_object(Bucket="some-bucket", Key="some-endpoint/by-hand.tar.gz", Body=b"mine")
    assert delete_uploaded(aws, place, lines.append) == 1
    assert keys(aws, place) == ["by-hand.tar.gz"]
    assert "kept the bucket some-bucket: it holds other objects" in lines

    aws.s3.delete_object(Bucket="some-bucket", Key="some-endpoint/by-hand.tar.gz")
    assert delete_uploaded(aws, place, lines.append) == 1
    assert aws.s3.list_buckets()["Buckets"] == []
    assert delete_uploaded(aws, place, lines.append) == 0


def test_a_bucket_that_existed_before_is_kept(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str]
) -> None:
    """Otherwise undeploy would delete a bucket that somebody else created."""
    where = {"LocationConstraint": "eu-central-1"}
    aws.s3.create_bucket(Bucket="some-bucket", CreateBucketConfiguration=where)
    upload_archives(aws, place, [make_archive("echo")], lines.append)
    assert delete_uploaded(aws, place, lines.append) == 1
    assert [each["Name"] for each in aws.s3.list_buckets()["Buckets"]] == ["some-bucket"]


def test_an_interrupted_upload_keeps_what_is_complete(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command uploads the rest. A bucket in which nothing is complete is deleted again."""
    archives = [make_archive("one"), make_archive("two")]
    send, refused = aws.s3.put_object, ["one", "two"]

    def fail(Key: str, **request: Any) -> Any:  # noqa: N803
        if any(name in Key for name in refused):
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "PutObject")
        return send(Key=Key, **request)

    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    monkeypatch.setattr(aws.s3, "put_object", fail)
    with pytest.raises(EnsembleError, match="SlowDown"):
        upload_archives(aws, place, archives, lines.append)
    assert aws.s3.list_buckets()["Buckets"] == []

    refused.remove("one")
    with pytest.raises(EnsembleError, match="SlowDown"):
        upload_archives(aws, place, archives, lines.append)
    assert keys(aws, place) == [archives[0].key]
    refused.clear()
    assert upload_archives(aws, place, archives, lines.append).archives == 1


def test_ctrl_c_stops_what_is_being_sent(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise people wait until the archives under way are complete."""
    started, send = threading.Event(), aws.s3.put_object

    def read(Body: Any, **request: Any) -> Any:  # noqa: N803
        started.set()
        for _ in range(300):  # s3transfer ends the reading of a body that was cancelled
            Body.read(1)
            time.sleep(0.1)
        return send(Body=Body, **request)

    def interrupt(*_: Any) -> Any:
        started.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(aws.s3, "put_object", read)
    monkeypatch.setattr("triton_ensembles.deploy.uploads.wait", interrupt)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        upload_archives(aws, place, [make_archive("one")], lines.append)
    assert time.monotonic() - began < 10
    assert aws.s3.list_buckets()["Buckets"] == []


def test_an_object_with_other_content_is_not_overwritten(
    aws: Aws, place: S3Prefix, make_archive: MakeArchive, lines: list[str]
) -> None:
    """The error names the file and the object."""
    archive = make_archive("echo")
    upload_archives(aws, place, [archive], lines.append)
    aws.s3.put_object(Bucket="some-bucket", Key=f"some-endpoint/{archive.key}", Body=b"something else")
    with pytest.raises(EnsembleError, match="is another file than echo"):
        upload_archives(aws, place, [archive], lines.append)
