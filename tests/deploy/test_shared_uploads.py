"""Archives that have much in common: what they share is sent once, and S3 makes the others from it."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import Bucket
from tests.files import write_files
from tests.hosting.archives import model
from triton_ensembles.archive.clones import clone
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy.archives import Archive, read_archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.stored import unfinished
from triton_ensembles.deploy.uploads import list_uploads
from triton_ensembles.ground.errors import EnsembleError

MIB = 1 << 20
Clones = Callable[..., list[Archive]]


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    """``clones(3, weights=7 * MIB)``: clones of a model with files of these sizes, which do not shrink."""

    def make(count: int, **files: int) -> list[Archive]:
        content = model("echo") | {"manifest.json": b'{"ensemble": "echo", "weights": "pretrained"}'}
        content |= {f"echo/1/{name}": random.Random(name).randbytes(size) for name, size in files.items()}
        write_archive(write_files(tmp_path / "tree", content), tmp_path / "echo.tar.gz")
        names = [f"tenant_{number}" for number in range(count)]
        return [read_archive(path) for path in clone(tmp_path / "echo.tar.gz", names, tmp_path / "clones")]

    return make


def wanted(archives: Sequence[Archive]) -> dict[str, str]:
    return {each.key: each.sha256 for each in archives}


@pytest.mark.parametrize(
    "files",
    [
        {"weights": 5 * MIB + 1000},
        {"a": 30_000, "b": 5 * MIB, "c": 200_000, "d": 11 * MIB, "e": 90_000},
        {"a": 3 * MIB, "b": 6 * MIB, "c": 2 * MIB},
    ],
)
def test_clones_are_sent_for_the_bytes_of_one(bucket: Bucket, clones: Clones, files: dict[str, int]) -> None:
    """Each of them comes back as it is on this machine, and the prefix holds nothing else."""
    archives = clones(2, **files)
    expected = list_uploads(bucket.aws, bucket.place, archives, print).bytes_to_send
    assert bucket.upload(*archives) == (2, expected)
    assert expected < archives[0].size * 1.05
    assert bucket.archives() == wanted(archives)
    assert len(bucket.aws.s3.list_objects_v2(Bucket=bucket.place.bucket)["Contents"]) == 2
    assert not [line for line in bucket.lines if line.startswith("!!!")]
    assert bucket.upload(*archives) == (0, 0)


def test_a_changed_clone_and_other_archives_are_sent_beside_them(
    bucket: Bucket, clones: Clones, make_archive: Callable[..., Archive]
) -> None:
    """What is in S3 from an earlier upload is not sent again for a new archive that shares it."""
    archives = clones(3, weights=5 * MIB + 1000)
    bucket.upload(*archives[:1])
    mixed = [make_archive("other"), *archives, archives[2]]
    count, sent = bucket.upload(*mixed)
    assert count == 3
    assert sent < MIB
    assert bucket.archives() == wanted(mixed)


@pytest.mark.parametrize("small", [0, 60_000])
def test_much_that_cannot_be_copied_is_said_with_the_cure(bucket: Bucket, clones: Clones, small: int) -> None:
    """An environment of a thousand small files costs 8 MB for each clone, and people would wonder why."""
    archives = clones(3, weights=7 * MIB, **{f"z{number:02}": small for number in range(20)})
    list_uploads(bucket.aws, bucket.place, archives, bucket.lines.append)
    said = [
        line for line in bucket.lines if line.startswith("note: 2 archives") and "clone --common-environments" in line
    ]
    assert len(said) == bool(small)


@pytest.mark.parametrize(("code", "status", "said"), [("NotImplemented", 501, 1), ("PreconditionFailed", 412, 2)])
def test_a_server_that_does_not_copy_gets_whole_archives(
    bucket: Bucket, clones: Clones, monkeypatch: pytest.MonkeyPatch, code: str, status: int, said: int
) -> None:
    """It is said: once where the server refuses, for each archive where what it shares has changed."""

    def refuse(**_: Any) -> Any:
        error = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(error, "UploadPartCopy")

    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    monkeypatch.setattr(bucket.aws.s3, "upload_part_copy", refuse)
    archives = clones(3, weights=5 * MIB + 1000)
    assert bucket.upload(*archives) == (len(archives), sum(each.size for each in archives))
    assert len([line for line in bucket.lines if line.startswith("!!!")]) == said
    assert bucket.archives() == wanted(archives)
    assert not unfinished(bucket.aws, bucket.place, "")


def test_a_source_that_holds_something_else_is_noticed(bucket: Bucket, clones: Clones) -> None:
    """Somebody has overwritten the first archive with as many other bytes, and with its metadata."""
    archives = clones(2, weights=5 * MIB + 1000)
    bucket.upload(*archives[:1])
    key = archives[0].key
    bucket.put(key, bytes(archives[0].size), Metadata=bucket.head(key))
    bucket.upload(*archives)
    assert bucket.archives()[archives[1].key] == archives[1].sha256
    assert [line for line in bucket.lines if line.startswith(f"!!! {archives[1].key}")]


def test_what_a_server_without_checksums_has_made_is_not_trusted(
    bucket: Bucket, clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise damaged weights would be served. It is said once, and nothing more is tried."""
    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    archives = clones(3, weights=5 * MIB + 1000)
    head = bucket.aws.s3.head_object

    def without_checksum(**request: Any) -> Any:
        return {name: value for name, value in head(**request).items() if not name.startswith("Checksum")}

    monkeypatch.setattr(bucket.aws.s3, "head_object", without_checksum)
    bucket.upload(*archives)
    assert bucket.archives() == wanted(archives)
    assert len([line for line in bucket.lines if "computes no checksum" in line]) == 1


def test_an_interrupted_upload_leaves_no_parts(bucket: Bucket, clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS would bill them. A run that was killed could not delete them, so undeploy does."""
    (archive,) = clones(1, weights=40 * MIB)
    send, calls = bucket.aws.s3.upload_part, 0

    def fail_at_third(**request: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "UploadPart")
        return send(**request)

    with monkeypatch.context() as patch, pytest.raises(EnsembleError, match="SlowDown"):
        patch.setattr(bucket.aws.s3, "upload_part", fail_at_third)
        bucket.upload(archive)
    assert not bucket.exists()

    assert bucket.upload(archive) == (1, archive.size)
    assert bucket.archives() == wanted([archive])
    s3, place = bucket.aws.s3, bucket.place
    s3.create_multipart_upload(Bucket=place.bucket, Key=place.folder + archive.key)
    bucket.delete()
    assert [line for line in bucket.lines if line.startswith("deleted the unfinished upload")]
    assert not bucket.exists()


def test_versions_and_odd_names(aws: Aws, clones: Clones) -> None:
    """In a bucket that keeps versions, the steps leave none behind."""
    bucket = Bucket(aws, S3Prefix("some-bucket", "a b/ünï+%20"), [])
    where = {"LocationConstraint": "eu-central-1"}
    aws.s3.create_bucket(Bucket="some-bucket", CreateBucketConfiguration=where)
    aws.s3.put_bucket_versioning(Bucket="some-bucket", VersioningConfiguration={"Status": "Enabled"})
    archives = clones(2, weights=5 * MIB + 1000)
    bucket.upload(*archives)
    assert bucket.archives() == wanted(archives)
    versions = aws.s3.list_object_versions(Bucket="some-bucket")
    assert len(versions["Versions"]) == 2
    assert "DeleteMarkers" not in versions
