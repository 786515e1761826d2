"""Archives that have much in common: what they share is sent once, and S3 makes the others from it."""

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import CONFIG, MODEL
from triton_ensembles.archive.clones import clone
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy.archives import Archive, read_archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.stored import delete_uploaded, stored_archives, unfinished
from triton_ensembles.deploy.uploads import list_uploads, upload_archives
from triton_ensembles.ground.errors import EnsembleError

MIB = 1 << 20
Clones = Callable[..., list[Archive]]


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    """``clones(3, weights=7 * MIB)``: clones of a model with files of these sizes, which do not shrink."""

    def make(count: int, **files: int) -> list[Archive]:
        tree = tmp_path / "tree"
        (tree / "echo" / "1").mkdir(parents=True)
        (tree / "echo" / "config.pbtxt").write_text(CONFIG.format(name="echo"))
        (tree / "echo" / "1" / "model.py").write_text(MODEL)
        (tree / "manifest.json").write_text(json.dumps({"ensemble": "echo", "weights": "pretrained"}))
        for name, size in files.items():
            (tree / "echo" / "1" / name).write_bytes(random.Random(name).randbytes(size))
        write_archive(tree, tmp_path / "echo.tar.gz")
        names = [f"tenant_{number}" for number in range(count)]
        return [read_archive(path) for path in clone(tmp_path / "echo.tar.gz", names, tmp_path / "clones")]

    return make


def hashes(aws: Aws, place: S3Prefix) -> dict[str, str]:
    """The SHA-256 of every archive as it comes back."""
    keys = stored_archives(aws, place)
    bodies = {key: aws.s3.get_object(Bucket=place.bucket, Key=place.folder + key)["Body"].read() for key in keys}
    return {key: hashlib.sha256(body).hexdigest() for key, body in bodies.items()}


def wanted(archives: Sequence[Archive]) -> dict[str, str]:
    return {each.key: each.sha256 for each in archives}


def keys(aws: Aws, place: S3Prefix) -> list[str]:
    """Every object, whatever it is."""
    return [each["Key"] for each in aws.s3.list_objects_v2(Bucket=place.bucket).get("Contents", ())]


@pytest.mark.parametrize(
    "files",
    [
        {"weights": 5 * MIB + 1000},
        {"a": 30_000, "b": 5 * MIB, "c": 200_000, "d": 11 * MIB, "e": 90_000},
        {"a": 3 * MIB, "b": 6 * MIB, "c": 2 * MIB},
    ],
)
def test_clones_are_sent_for_the_bytes_of_one(
    aws: Aws, place: S3Prefix, clones: Clones, lines: list[str], files: dict[str, int]
) -> None:
    """Each of them comes back as it is on this machine, and the prefix holds nothing else."""
    archives = clones(2, **files)
    expected = list_uploads(aws, place, archives, lines.append).bytes_to_send
    uploaded = upload_archives(aws, place, archives, lines.append)
    assert (uploaded.archives, uploaded.sent) == (2, expected)
    assert uploaded.sent < archives[0].size * 1.05
    assert hashes(aws, place) == wanted(archives)
    assert len(keys(aws, place)) == 2
    assert not [line for line in lines if line.startswith("!!!")]
    assert upload_archives(aws, place, archives, lines.append).archives == 0


def test_a_changed_clone_and_other_archives_are_sent_beside_them(
    aws: Aws, place: S3Prefix, clones: Clones, make_archive: Callable[..., Archive], lines: list[str]
) -> None:
    """What is in S3 from an earlier upload is not sent again for a new archive that shares it."""
    archives = clones(3, weights=5 * MIB + 1000)
    upload_archives(aws, place, archives[:1], lines.append)
    mixed = [make_archive("other"), *archives, archives[2]]
    uploaded = upload_archives(aws, place, mixed, lines.append)
    assert uploaded.archives == 3
    assert uploaded.sent < MIB
    assert hashes(aws, place) == wanted(mixed)


@pytest.mark.parametrize("small", [0, 60_000])
def test_much_that_cannot_be_copied_is_said_with_the_cure(
    aws: Aws, clones: Clones, lines: list[str], small: int
) -> None:
    """An environment of a thousand small files costs 8 MB for each clone, and people would wonder why."""
    archives = clones(3, weights=7 * MIB, **{f"z{number:02}": small for number in range(20)})
    list_uploads(aws, S3Prefix("some-bucket", "triton-ensembles"), archives, lines.append)
    said = [line for line in lines if line.startswith("note: 2 archives") and "clone --common-environments" in line]
    assert len(said) == bool(small)


def refuse(aws: Aws, monkeypatch: pytest.MonkeyPatch, code: str, status: int) -> None:
    def answer(**_: Any) -> Any:
        error = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(error, "UploadPartCopy")

    monkeypatch.setattr(aws.s3, "upload_part_copy", answer)


@pytest.mark.parametrize(("code", "status", "said"), [("NotImplemented", 501, 1), ("PreconditionFailed", 412, 2)])
def test_a_server_that_does_not_copy_gets_whole_archives(
    aws: Aws,
    place: S3Prefix,
    clones: Clones,
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    status: int,
    said: int,
) -> None:
    """It is said: once where the server refuses, for each archive where what it shares has changed."""
    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    archives = clones(3, weights=5 * MIB + 1000)
    refuse(aws, monkeypatch, code, status)
    uploaded = upload_archives(aws, place, archives, lines.append)
    assert uploaded.sent == sum(each.size for each in archives)
    assert len([line for line in lines if line.startswith("!!!")]) == said
    assert hashes(aws, place) == wanted(archives)
    assert not unfinished(aws, place, "")


def test_a_source_that_holds_something_else_is_noticed(
    aws: Aws, place: S3Prefix, clones: Clones, lines: list[str]
) -> None:
    """Somebody has overwritten the first archive with as many other bytes, and with its metadata."""
    archives = clones(2, weights=5 * MIB + 1000)
    upload_archives(aws, place, archives[:1], lines.append)
    key = place.folder + archives[0].key
    metadata = aws.s3.head_object(Bucket=place.bucket, Key=key)["Metadata"]
    aws.s3.put_object(Bucket=place.bucket, Key=key, Body=bytes(archives[0].size), Metadata=metadata)
    upload_archives(aws, place, archives, lines.append)
    assert hashes(aws, place)[archives[1].key] == archives[1].sha256
    assert [line for line in lines if line.startswith(f"!!! {archives[1].key}")]


def test_what_a_server_without_checksums_has_made_is_not_trusted(
    aws: Aws, place: S3Prefix, clones: Clones, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise damaged weights would be served. It is said once, and nothing more is tried."""
    monkeypatch.setattr("triton_ensembles.deploy.uploads.AT_ONCE", 1)
    archives = clones(3, weights=5 * MIB + 1000)
    head = aws.s3.head_object

    def without_checksum(**request: Any) -> Any:
        return {name: value for name, value in head(**request).items() if not name.startswith("Checksum")}

    monkeypatch.setattr(aws.s3, "head_object", without_checksum)
    upload_archives(aws, place, archives, lines.append)
    assert hashes(aws, place) == wanted(archives)
    assert len([line for line in lines if "computes no checksum" in line]) == 1


def test_an_interrupted_upload_leaves_no_parts(
    aws: Aws, place: S3Prefix, clones: Clones, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS would bill them. A run that was killed could not delete them, so undeploy does."""
    (archive,) = clones(1, weights=40 * MIB)
    send, calls = aws.s3.upload_part, 0

    def fail_at_third(**request: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "UploadPart")
        return send(**request)

    with monkeypatch.context() as patch, pytest.raises(EnsembleError, match="SlowDown"):
        patch.setattr(aws.s3, "upload_part", fail_at_third)
        upload_archives(aws, place, [archive], lines.append)
    assert aws.s3.list_buckets()["Buckets"] == []

    uploaded = upload_archives(aws, place, [archive], lines.append)
    assert uploaded.sent == archive.size
    assert hashes(aws, place) == wanted([archive])
    aws.s3.create_multipart_upload(Bucket=place.bucket, Key=place.folder + archive.key)
    delete_uploaded(aws, place, lines.append)
    assert [line for line in lines if line.startswith("deleted the unfinished upload")]
    assert aws.s3.list_buckets()["Buckets"] == []


def test_versions_and_odd_names(aws: Aws, clones: Clones, lines: list[str]) -> None:
    """In a bucket that keeps versions, the steps leave none behind."""
    place = S3Prefix("some-bucket", "a b/ünï+%20")
    where = {"LocationConstraint": "eu-central-1"}
    aws.s3.create_bucket(Bucket=place.bucket, CreateBucketConfiguration=where)
    aws.s3.put_bucket_versioning(Bucket=place.bucket, VersioningConfiguration={"Status": "Enabled"})
    archives = clones(2, weights=5 * MIB + 1000)
    upload_archives(aws, place, archives, lines.append)
    assert hashes(aws, place) == wanted(archives)
    versions = aws.s3.list_object_versions(Bucket=place.bucket)
    assert len(versions["Versions"]) == 2
    assert "DeleteMarkers" not in versions
