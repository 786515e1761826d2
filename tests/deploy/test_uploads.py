"""Archives in S3: uploaded once, never overwritten, and deleted without a trace."""

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import Bucket, MakeArchive
from tests.files import write_files
from tests.hosting.archives import model
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy.archives import read_archive
from triton_ensembles.ground.errors import EnsembleError


def test_uploading_twice_sends_once(bucket: Bucket, make_archive: MakeArchive) -> None:
    """The objects hold the archives' bytes and say what their weights are."""
    archives = [make_archive("one"), make_archive("two", weights="random")]
    assert bucket.upload(*archives) == 2
    assert bucket.upload(*archives) == 0
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
    """The same command uploads the rest."""
    archives = [make_archive("one"), make_archive("two")]
    send, refused = bucket.aws.s3.put_object, ["one", "two"]

    def fail(Key: str, **request: Any) -> Any:  # noqa: N803
        if any(name in Key for name in refused):
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "PutObject")
        return send(Key=Key, **request)

    monkeypatch.setattr(bucket.aws.s3, "put_object", fail)
    with pytest.raises(EnsembleError, match="SlowDown"):
        bucket.upload(*archives)
    assert not bucket.archives()

    refused.remove("one")
    with pytest.raises(EnsembleError, match="SlowDown"):
        bucket.upload(*archives)
    assert [*bucket.archives()] == [archives[0].key]
    refused.clear()
    assert bucket.upload(*archives) == 1


def test_an_interrupted_upload_leaves_no_parts(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS would bill them. A run that was killed could not delete them, so undeploy does."""
    files = model("large") | {"large/1/weights": random.Random(1).randbytes(20 << 20)}
    write_archive(write_files(tmp_path / "tree", files), tmp_path / "large.tar.gz")
    archive = read_archive(tmp_path / "large.tar.gz")
    send, calls = bucket.aws.s3.upload_part, 0

    def fail_at_second(**request: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "UploadPart")
        return send(**request)

    with monkeypatch.context() as patch, pytest.raises(EnsembleError, match="SlowDown"):
        patch.setattr(bucket.aws.s3, "upload_part", fail_at_second)
        bucket.upload(archive)
    assert "Uploads" not in bucket.aws.s3.list_multipart_uploads(Bucket=bucket.place.bucket)

    assert bucket.upload(archive) == 1
    assert bucket.archives() == {archive.key: archive.sha256}
    s3, place = bucket.aws.s3, bucket.place
    s3.create_multipart_upload(Bucket=place.bucket, Key=place.folder + archive.key)
    bucket.delete()
    assert [line for line in bucket.lines if line.startswith("deleted the unfinished upload")]
    assert not bucket.exists()


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
    monkeypatch.setattr("s3transfer.futures.TransferCoordinator.result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bucket.upload(make_archive("one"))
    assert not complete
    assert not bucket.archives()
