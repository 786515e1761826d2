"""What is uploaded to S3, or copied there in parts, is what is stored, however it comes; nothing incomplete is."""

import base64
import gzip
import hashlib
import os
import re
import socket
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.endpoint.conftest import BUCKET, refused, signed
from tests.running import connected, sent
from triton_ensembles.endpoint.aws_services.checksums import CHECKSUMS
from triton_ensembles.endpoint.local import LocalEndpoint

FORM = "application/x-www-form-urlencoded"
BODIES = {
    "empty": b"",
    "a form": b"Action=AssumeRole&Version=2009-04-15&key=a&file=b",
    "percents": b"%zz%00" * 100 + b"+ +\r\n\0",
    "bytes": os.urandom(300_000),
    "gzip": gzip.compress(b"tar"),
}
SIGNED = signed("s3")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def stored(s3: Any) -> Iterator[Callable[[str], str]]:
    """``stored(key)``: the sha256 of the object."""
    yield lambda key: sha256(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
    s3.delete_object(Bucket=BUCKET, Key="up")


def presigned(s3: Any, operation: str = "put_object", key: str = "up", **parameters: Any) -> str:
    return str(s3.generate_presigned_url(operation, Params={"Bucket": BUCKET, "Key": key, **parameters}))


def put(url: str, body: Any, headers: dict[str, str]) -> int:
    """With no other header than these; pieces are sent chunked."""
    parts = urllib.parse.urlsplit(url)
    return sent(parts.netloc, "PUT", f"{parts.path}?{parts.query}", body, headers)[0]


TYPES = [None, FORM, f"{FORM}; charset=utf-8", FORM.upper(), "multipart/form-data; boundary=x", "nonsense"]


@pytest.mark.parametrize("content_type", TYPES)
def test_a_put_is_stored_whatever_its_content_type(s3: Any, stored: Callable[[str], str], content_type: str) -> None:
    """curl sends the second one unless it is told another, and Python's requests none at all."""
    for name, body in BODIES.items():
        for way in ("whole", "chunked"):
            data: Any = body if way == "whole" else iter([piece for piece in (body[:7], body[7:]) if piece])
            status = put(presigned(s3), data, {} if content_type is None else {"Content-Type": content_type})
            assert (status, stored("up")) == (200, sha256(body)), f"{name}, {way}"


def test_curl_uploads_to_a_presigned_url(s3: Any, stored: Callable[[str], str], tmp_path: Path) -> None:
    """--data-binary sends a form by its type; -T expects 100-continue and has no type."""
    body = os.urandom(2_000_000)
    (tmp_path / "file").write_bytes(body)
    for arguments in (["--data-binary", f"@{tmp_path}/file"], ["-T", f"{tmp_path}/file", "-H", "Expect: 100-continue"]):
        command = ["curl", "-sS", "--fail", "--max-time", "30", "-X", "PUT", *arguments, presigned(s3)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert stored("up") == sha256(body)


def test_a_form_that_is_posted_to_a_bucket_is_refused_with_the_cure(s3: Any) -> None:
    form = s3.generate_presigned_post(BUCKET, "form")
    reply = requests.post(form["url"], data=form["fields"], files={"file": b"1"}, timeout=300)
    assert (reply.status_code, re.findall("<Code>(.*)</Code>", reply.text)) == (400, ["NotSupportedLocally"])
    assert "send the object with PUT" in reply.text
    assert refused(s3.get_object, Bucket=BUCKET, Key="form")[0] == "NoSuchKey"


@pytest.mark.parametrize(
    "kind", ["AWS4-HMAC-SHA256-PAYLOAD", "AWS4-ECDSA-P256-SHA256-PAYLOAD", "UNSIGNED-PAYLOAD-TRAILER"]
)
def test_chunks_that_sdks_sign_one_by_one_are_joined(
    local: LocalEndpoint, stored: Callable[[str], str], kind: str
) -> None:
    extension = b";chunk-signature=" + b"a" * 64 if kind.startswith("AWS4") else b""
    headers = {"Authorization": SIGNED, "Content-Type": FORM, "Content-Encoding": "aws-chunked"}
    for name, body in BODIES.items():
        pieces = [body[start : start + 70_000] for start in range(0, len(body), 70_000)]
        encoded = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in [*pieces, b""])
        headers |= {"x-amz-content-sha256": f"STREAMING-{kind}", "x-amz-decoded-content-length": str(len(body))}
        url = f"{local.url}/{BUCKET}/up"
        assert (put(url, encoded, headers), stored("up")) == (200, sha256(body)), name
        if body:
            assert put(url, encoded[: len(encoded) // 2], headers) == 400
            assert stored("up") == sha256(body), "the object of before is kept"


def test_a_checksum_that_is_only_named_is_computed(local: LocalEndpoint) -> None:
    body = BODIES["bytes"]
    unnamed = {"Authorization": SIGNED, "x-amz-sdk-checksum-algorithm": "SHA1"}
    reply = requests.put(f"{local.url}/{BUCKET}/up", body, headers=unnamed, timeout=300)
    digest = base64.b64encode(CHECKSUMS["SHA1"](body)).decode()
    assert (reply.status_code, reply.headers["x-amz-checksum-sha1"]) == (200, digest)


@pytest.mark.parametrize("name", [*CHECKSUMS, "CRC32C", "CRC64NVME"])
@pytest.mark.parametrize("place", ["header", "trailer"])
def test_a_checksum_is_given_back(local: LocalEndpoint, s3: object, name: str, place: str) -> None:
    """CRC32C and CRC64NVME, which AWS's command line sends, are kept as they came."""
    url, header = f"{local.url}/{BUCKET}/checked", f"x-amz-checksum-{name.lower()}"
    body = b"123456789"
    catalog = {"CRC32C": "e3069283", "CRC64NVME": "ae8b14860a799888"}  # https://reveng.sourceforge.io/crc-catalogue
    digest = bytes.fromhex(catalog[name]) if name in catalog else CHECKSUMS[name](body)

    def send(digest: bytes) -> requests.Response:
        value = base64.b64encode(digest).decode()
        headers = {"Authorization": SIGNED, "x-amz-sdk-checksum-algorithm": name}
        if place == "header":
            return requests.put(url, body, headers=headers | {header: value}, timeout=30)
        headers |= {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "Content-Encoding": "aws-chunked"}
        headers |= {"x-amz-decoded-content-length": "9", "x-amz-trailer": header}
        chunked = b"9\r\n" + body + f"\r\n0\r\n{header}:{value}\r\n\r\n".encode()
        return requests.put(url, chunked, headers=headers, timeout=30)

    assert send(digest).status_code == 200
    got = requests.get(url, headers={"Authorization": SIGNED, "x-amz-checksum-mode": "ENABLED"}, timeout=30)
    assert (got.content, got.headers[header]) == (body, base64.b64encode(digest).decode())


@pytest.mark.parametrize("checksum", [{}, {"ChecksumAlgorithm": "CRC32"}, {"ChecksumAlgorithm": "CRC64NVME"}])
def test_parts_are_uploaded_through_presigned_urls_whatever_checksum_their_upload_names(
    s3: Any, stored: Callable[[str], str], checksum: dict[str, str]
) -> None:
    """Without one, S3 and moto take CRC64NVME."""
    upload = {"UploadId": s3.create_multipart_upload(Bucket=BUCKET, Key="up", **checksum)["UploadId"]}
    parts = [os.urandom(5 << 20), BODIES["a form"]]
    headers = {"Content-Type": FORM}
    listed = ""
    for number, part in enumerate(parts, 1):
        url = presigned(s3, "upload_part", PartNumber=number, **upload)
        etag = requests.put(url, part, headers=headers, timeout=300).headers["ETag"]
        listed += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
    body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>"
    url = presigned(s3, "complete_multipart_upload", **upload)
    assert requests.post(url, body, headers=headers, timeout=300).status_code == 200
    assert stored("up") == sha256(b"".join(parts))


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_an_upload_that_breaks_off_is_not_stored(local: LocalEndpoint, s3: Any, framing: str) -> None:
    host = local.url.removeprefix("http://")
    request = f"PUT /{BUCKET}/broken HTTP/1.1\r\nHost: {host}\r\nAuthorization: {SIGNED}\r\n{framing}\r\n\r\n"
    piece = "a\r\n1234567890\r\n" if "chunked" in framing else "1234567890"
    with connected(local.url) as connection:
        connection.sendall((request + piece).encode())
        connection.shutdown(socket.SHUT_WR)
        assert not connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert refused(s3.get_object, Bucket=BUCKET, Key="broken")[0] == "NoSuchKey"


@pytest.mark.parametrize("path", ["latest/meta-data/x", "moto-api/x", f"{BUCKET}/.well-known/jwks.json"])
def test_no_name_of_an_object_leads_to_another_service(s3: Any, path: str) -> None:
    bucket, key = path.split("/", 1)
    if bucket != BUCKET:
        s3.create_bucket(Bucket=bucket)
    assert put(presigned(s3, key=key, Bucket=bucket), b"abc", {"Content-Type": FORM}) == 200
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"abc"


def test_what_moto_does_not_have_is_an_error_of_s3(local: LocalEndpoint) -> None:
    for method, code in (("PATCH", "NotImplemented"), ("PROPFIND", "MethodNotAllowed")):
        reply = requests.request(method, f"{local.url}/{BUCKET}/up", headers={"Authorization": SIGNED}, timeout=300)
        assert re.findall("<Code>(.*)</Code>", reply.text) == [code]


LARGE = bytes(range(256)) * (6 << 12)  # 6 MiB
SOURCE = {"Bucket": BUCKET, "Key": "sources/a b+ü"}


@pytest.fixture
def copy(s3: Any) -> Callable[..., Any]:
    """``copy(1, CopySourceRange=…)``: copy a part of the source into a new upload."""
    s3.put_object(**SOURCE, Body=LARGE)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="copied")
    where = {"Bucket": BUCKET, "Key": "copied", "UploadId": upload["UploadId"]}

    def copy(number: int, **more: Any) -> dict[str, Any]:
        result = s3.upload_part_copy(**where, PartNumber=number, **{"CopySource": SOURCE} | more)["CopyPartResult"]
        return {"PartNumber": number, "ETag": result["ETag"]}

    copy.where = where  # type: ignore[attr-defined]
    return copy


def test_an_object_is_made_of_parts_of_others_in_their_order(s3: Any, copy: Any) -> None:
    """The last part may be short. Each part's ETag is the MD5 of its bytes, as S3 has it without KMS."""
    etag = s3.head_object(**SOURCE)["ETag"]
    parts = [copy(1, CopySourceIfMatch=etag), copy(2, CopySourceRange="bytes=10-19", CopySourceIfMatch=etag)]
    for wrong in (parts[::-1], [parts[0], parts[0]]):
        complete = {**copy.where, "MultipartUpload": {"Parts": wrong}}
        assert refused(s3.complete_multipart_upload, **complete)[0] == "InvalidPartOrder"
    s3.complete_multipart_upload(**copy.where, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket=BUCKET, Key="copied")["Body"].read() == LARGE + LARGE[10:20]
    assert parts[1]["ETag"].strip('"') == hashlib.md5(LARGE[10:20]).hexdigest()


def test_several_programs_may_complete_the_same_upload(s3: Any, copy: Any) -> None:
    """As on AWS, where the call may be repeated: two runs of ``upload`` may fill the same."""
    parts = {"Parts": [copy(1)]}
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(s3.complete_multipart_upload, **copy.where, MultipartUpload=parts) for _ in range(3)]
    assert len({call.result()["ETag"] for call in calls}) == 1
    assert s3.get_object(Bucket=BUCKET, Key="copied")["Body"].read() == LARGE
