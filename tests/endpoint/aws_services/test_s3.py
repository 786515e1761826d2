"""S3 on the endpoint's own URL."""

import filecmp
import os
import re
import shutil
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from boto3.s3.transfer import TransferConfig

from tests.endpoint.conftest import BUCKET, Deployer, ask, refused, signed
from tests.hosting import archives
from tests.processes import started_by, wait_for_end
from triton_ensembles.endpoint.local import LocalEndpoint

MEGABYTES = 200


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(os.urandom(MEGABYTES << 20))
    return path


def anonymous_megabytes(pid: int) -> float:
    """The process's memory that does not belong to a file."""
    found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def moto_process(local: LocalEndpoint) -> int:
    (pid,) = started_by(local.pid, "aws_services.serve")
    return pid


def test_a_large_object_goes_through_the_disk(local: LocalEndpoint, s3: Any, large: Path, tmp_path: Path) -> None:
    """By one PUT, in parts, as upload_file and download_file transfer it, and as one stream: an archive may exceed the
    memory."""
    process, ended, used = moto_process(local), threading.Event(), [0.0]
    config, key = TransferConfig(max_concurrency=2), {"Bucket": BUCKET, "Key": "large/file one.bin"}

    def watch() -> None:
        while not ended.wait(0.01):
            used.append(anonymous_megabytes(process))

    before = anonymous_megabytes(process)
    with ThreadPoolExecutor() as pool, large.open("rb") as file, (tmp_path / "streamed").open("wb") as streamed:
        pool.submit(watch)
        try:
            s3.put_object(**key, Body=file)
            shutil.copyfileobj(s3.get_object(**key)["Body"], streamed, 1 << 20)
            s3.upload_file(str(large), **key, Config=config)
            s3.download_file(**key, Filename=str(tmp_path / "back"), Config=config)
        finally:
            ended.set()
    assert max(used) - before < MEGABYTES / 2  # moto alone needs 3.7 times the object's size
    for copy in ("streamed", "back"):
        assert filecmp.cmp(large, tmp_path / copy, shallow=False)
    part = s3.get_object(**key, Range="bytes=1000000-1000009")
    assert part["Body"].read() == large.read_bytes()[1_000_000:1_000_010]
    assert part["ContentRange"] == f"bytes 1000000-1000009/{MEGABYTES << 20}"
    s3.delete_object(**key)


def test_objects_keep_their_type_metadata_and_odd_names(s3: Any) -> None:
    key = "odd/ü & ö+1 %20/name.tar.gz"
    s3.put_object(Bucket=BUCKET, Key=key, Body=b"abc", ContentType="application/gzip", Metadata={"sha256": "1"})
    found = s3.get_object(Bucket=BUCKET, Key=key)
    assert (found["Body"].read(), found["ContentType"]) == (b"abc", "application/gzip")
    assert found["Metadata"] == {"sha256": "1"}
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET, Prefix="odd/")["Contents"]] == [key]
    s3.copy_object(Bucket=BUCKET, Key="odd/copy", CopySource={"Bucket": BUCKET, "Key": key})
    assert s3.get_object(Bucket=BUCKET, Key="odd/copy")["Body"].read() == b"abc"
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key}, {"Key": "odd/copy"}]})
    assert refused(s3.get_object, Bucket=BUCKET, Key=key)[0] == "NoSuchKey"
    assert refused(s3.list_objects_v2, Bucket="nobodys")[0] == "NoSuchBucket"


def test_a_key_has_at_most_1024_bytes(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="ü" * 512, Body=b"abc")
    s3.delete_object(Bucket=BUCKET, Key="ü" * 512)
    for key in ("ü" * 512 + "x", "/" * 1025):
        assert refused(s3.put_object, Bucket=BUCKET, Key=key, Body=b"abc")[0] == "KeyTooLongError"
        assert refused(s3.create_multipart_upload, Bucket=BUCKET, Key=key)[0] == "KeyTooLongError"


@pytest.mark.parametrize("name", ["Models", "a_b", "a..b", "192.168.1.1", "xn--a", "a-"])
def test_a_name_that_s3_gives_no_bucket_is_refused(local: LocalEndpoint, name: str) -> None:
    """Otherwise the same code fails on AWS."""
    headers = {"Authorization": signed("s3")}
    answer = requests.put(f"{local.url}/{name}", headers=headers, timeout=300)
    assert answer.status_code == 400 and "<Code>InvalidBucketName<" in answer.text


def test_an_object_is_read_without_headers_and_with_its_bucket_in_the_hosts_name(local: LocalEndpoint, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="plain", Body=b"abc", ACL="public-read")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "plain"})
    for request in (url, urllib.request.Request(f"{local.url}/plain", headers={"Host": f"{BUCKET}.localhost:1"})):
        with urllib.request.urlopen(request) as reply:
            assert reply.read() == b"abc"


def test_archives_can_come_from_another_s3(tmp_path: Path, moto_s3: Any) -> None:
    url = moto_s3.meta.endpoint_url
    with LocalEndpoint(tmp_path, "--s3-url", url) as local:
        assert f"export AWS_ENDPOINT_URL_S3={url}" in local.lines
        assert not any("AWS_ACCESS_KEY_ID" in line for line in local.lines)
        moto_s3.put_object(Bucket=BUCKET, Key="one.tar.gz", Body=archives.packed(archives.model("one")))
        Deployer(local).multi_model("far", f"s3://{BUCKET}/")
        assert ask(local.client("sagemaker-runtime"), "far", "one.tar.gz", 1) == [1]
        code, message = refused(local.client("s3").list_buckets)
        assert (code, message) == ("NotImplemented", f"S3 is at {url}: export AWS_ENDPOINT_URL_S3={url}")


def test_when_the_s3_process_has_ended_it_is_started_again(tmp_path: Path) -> None:
    """Otherwise every upload, cold start and CreateEndpoint fails until the endpoint is started again."""
    with LocalEndpoint(tmp_path) as local:
        s3 = local.client("s3", retries={"total_max_attempts": 1})
        s3.create_bucket(Bucket="lost")
        os.kill(process := moto_process(local), 9)
        assert wait_for_end([process]) == []
        assert s3.list_buckets()["Buckets"] == []  # the request waits until it is there again
        s3.create_bucket(Bucket="new")
        s3.put_object(Bucket="new", Key="one.tar.gz", Body=archives.packed(archives.model("one")))
        Deployer(local).multi_model("again", "s3://new/")
        assert ask(local.client("sagemaker-runtime"), "again", "one.tar.gz", 1) == [1]
