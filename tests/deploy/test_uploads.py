"""Archives in S3: uploaded once, never overwritten, and deleted without a trace."""

import threading
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import Bucket, MakeArchive
from triton_ensembles.ground.errors import EnsembleError


def test_uploading_twice_sends_once(bucket: Bucket, make_archive: MakeArchive) -> None:
    """The objects hold the archives' bytes and say what their weights are."""
    archives = [make_archive("one"), make_archive("two", weights="random")]
    assert bucket.upload(*archives)[0] == 2
    assert bucket.upload(*archives)[0] == 0
    assert bucket.archives() == {archive.key: archive.sha256 for archive in archives}
    metadata = {"made-by": "triton-ensembles", "sha256": archives[1].sha256, "weights": "random"}
    assert bucket.head(archives[1].key) == metadata


def test_only_what_was_uploaded_is_deleted(bucket: Bucket, make_archive: MakeArchive) -> None:
    """The bucket is deleted with it once it is empty."""
    archive = make_archive("echo")
    bucket.upload(archive)
    bucket.put("by-hand.tar.gz", b"mine")
    assert bucket.delete() == 1
    assert [*bucket.archives()] == ["by-hand.tar.gz"]
    assert "kept the bucket some-bucket: it holds other objects" in bucket.lines

    bucket.aws.s3.delete_object(Bucket="some-bucket", Key="some-endpoint/by-hand.tar.gz")
    assert bucket.delete() == 1
    assert not bucket.exists()
    assert bucket.delete() == 0


def test_a_bucket_that_existed_before_is_kept(bucket: Bucket, make_archive: MakeArchive) -> None:
    """Otherwise undeploy would delete a bucket that somebody else created."""
    where = {"LocationConstraint": "eu-central-1"}
    bucket.aws.s3.create_bucket(Bucket="some-bucket", CreateBucketConfiguration=where)
    bucket.upload(make_archive("echo"))
    assert bucket.delete() == 1
    assert bucket.exists()


def test_an_interrupted_upload_keeps_what_is_complete(
    bucket: Bucket, make_archive: MakeArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command uploads the rest. A bucket in which nothing is complete is deleted again."""
    archives = [make_archive("one"), make_archive("two")]
    send, refused = bucket.aws.s3.put_object, ["one", "two"]

    def fail(Key: str, **request: Any) -> Any:  # noqa: N803
        if any(name in Key for name in refused):
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "PutObject")
        return send(Key=Key, **request)

    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    monkeypatch.setattr(bucket.aws.s3, "put_object", fail)
    with pytest.raises(EnsembleError, match="SlowDown"):
        bucket.upload(*archives)
    assert not bucket.exists()

    refused.remove("one")
    with pytest.raises(EnsembleError, match="SlowDown"):
        bucket.upload(*archives)
    assert [*bucket.archives()] == [archives[0].key]
    refused.clear()
    assert bucket.upload(*archives)[0] == 1


def test_ctrl_c_stops_what_is_being_sent(
    bucket: Bucket, make_archive: MakeArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise people wait until the archives under way are complete."""
    started, send, complete = threading.Event(), bucket.aws.s3.put_object, []

    def read(Body: Any, **request: Any) -> Any:  # noqa: N803
        started.set()
        for _ in range(300):  # s3transfer ends the reading of a body that was cancelled
            Body.read(1)
            time.sleep(0.1)
        complete.append(request)
        return send(Body=Body, **request)

    def interrupt(*_: Any) -> Any:
        started.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(bucket.aws.s3, "put_object", read)
    monkeypatch.setattr("triton_ensembles.deploy.uploads.wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bucket.upload(make_archive("one"))
    assert not complete
    assert not bucket.exists()


def test_an_object_with_other_content_is_not_overwritten(bucket: Bucket, make_archive: MakeArchive) -> None:
    """The error names the file and the object."""
    archive = make_archive("echo")
    bucket.upload(archive)
    bucket.put(archive.key, b"something else")
    with pytest.raises(EnsembleError, match="is another file than echo"):
        bucket.upload(archive)
