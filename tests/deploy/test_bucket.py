"""Archives in S3: sent once, never overwritten, and gone without a trace."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy.conftest import MakeArchive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import Place, remove_uploaded, stored, upload
from triton_ensembles.errors import EnsembleError


def keys(aws: Aws, place: Place) -> list[str]:
    return [each.key for each in stored(aws, place)]


def test_uploading_twice_sends_once(aws: Aws, place: Place, make_archive: MakeArchive, told: list[str]) -> None:
    archives = [make_archive("one"), make_archive("two", weights="random")]
    assert upload(aws, place, archives, told.append) == 2
    assert upload(aws, place, archives, told.append) == 0
    assert keys(aws, place) == [each.key for each in archives]
    head = aws.s3.head_object(Bucket="some-bucket", Key=f"some-endpoint/{archives[1].key}")
    assert head["Metadata"] == {"made-by": "triton-ensembles", "sha256": archives[1].sha256, "weights": "random"}
    body = aws.s3.get_object(Bucket="some-bucket", Key=f"some-endpoint/{archives[1].key}")["Body"].read()
    assert body == archives[1].path.read_bytes()


def test_a_changed_archive_leaves_the_old_one_for_the_models_that_run(
    aws: Aws, place: Place, make_archive: MakeArchive, told: list[str]
) -> None:
    old = make_archive("echo")
    upload(aws, place, [old], told.append)
    new = make_archive("echo", note="\n# changed\n")
    upload(aws, place, [new], told.append)
    assert sorted(keys(aws, place)) == sorted([old.key, new.key])


def test_all_that_was_made_is_removed_and_nothing_else(
    aws: Aws, place: Place, make_archive: MakeArchive, told: list[str]
) -> None:
    archive = make_archive("echo")
    upload(aws, place, [archive], told.append)
    aws.s3.put_object(Bucket="some-bucket", Key="some-endpoint/by-hand.tar.gz", Body=b"mine")
    assert remove_uploaded(aws, place, told.append) == 1
    assert keys(aws, place) == ["by-hand.tar.gz"]
    assert "kept the bucket some-bucket: there is more in it" in told

    aws.s3.delete_object(Bucket="some-bucket", Key="some-endpoint/by-hand.tar.gz")
    assert remove_uploaded(aws, place, told.append) == 1
    assert aws.s3.list_buckets()["Buckets"] == []
    assert remove_uploaded(aws, place, told.append) == 0


def test_a_bucket_of_someone_else_stays(aws: Aws, place: Place, make_archive: MakeArchive, told: list[str]) -> None:
    where = {"LocationConstraint": "eu-central-1"}
    aws.s3.create_bucket(Bucket="some-bucket", CreateBucketConfiguration=where)
    upload(aws, place, [make_archive("echo")], told.append)
    assert remove_uploaded(aws, place, told.append) == 1
    assert [each["Name"] for each in aws.s3.list_buckets()["Buckets"]] == ["some-bucket"]


def test_an_upload_that_breaks_off_leaves_nothing(
    aws: Aws, place: Place, make_archive: MakeArchive, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user would otherwise find half of the archives and a bucket after an error, and have to clean up by hand."""
    archives = [make_archive("one"), make_archive("two")]
    send = aws.s3.upload_file

    def fail_at_second(path: str, *arguments: Any, **options: Any) -> None:
        if path.endswith("two.tar.gz"):
            raise KeyboardInterrupt
        send(path, *arguments, **options)

    monkeypatch.setattr(aws.s3, "upload_file", fail_at_second)
    with pytest.raises(KeyboardInterrupt):
        upload(aws, place, archives, told.append)
    assert aws.s3.list_buckets()["Buckets"] == []


def test_an_object_that_is_something_else_is_not_overwritten(
    aws: Aws, place: Place, make_archive: MakeArchive, told: list[str]
) -> None:
    archive = make_archive("echo")
    upload(aws, place, [archive], told.append)
    aws.s3.put_object(Bucket="some-bucket", Key=f"some-endpoint/{archive.key}", Body=b"something else")
    with pytest.raises(EnsembleError, match="is another file than echo"):
        upload(aws, place, [archive], told.append)
