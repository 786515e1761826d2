"""The checksums that newer SDKs and AWS's command line send with uploads."""

from __future__ import annotations

import base64
import os

import pytest
import requests

from tests.endpoint.conftest import BUCKET
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.s3.checksums import CHECKSUMS
from triton_ensembles.endpoint.s3.crc import crc32c, crc64nvme

SIGNED = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


def bit_by_bit(data: bytes, width: int, polynomial: int) -> bytes:
    register = ones = (1 << width) - 1
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
    return (register ^ ones).to_bytes(width // 8, "big")


def test_the_crcs_have_the_values_of_their_catalog() -> None:
    """https://reveng.sourceforge.io/crc-catalogue/all.htm: "check" is that of these nine bytes."""
    assert crc32c(b"123456789") == bytes.fromhex("e3069283")
    assert crc64nvme(b"123456789") == bytes.fromhex("ae8b14860a799888")


@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 1025, 3000, 5 * 1024 + 7, 40_000])
def test_the_crcs_of_any_length_are_those_of_the_definition(length: int) -> None:
    data = os.urandom(length)
    assert crc32c(data) == bit_by_bit(data, 32, 0x82F63B78)
    assert crc64nvme(data) == bit_by_bit(data, 64, 0x9A6C9329AC4BC9B5)


@pytest.mark.parametrize("name", CHECKSUMS)
@pytest.mark.parametrize("place", ["header", "trailer"])
def test_a_checksum_is_compared_and_given_back(local: LocalEndpoint, s3: object, name: str, place: str) -> None:
    url, header = f"{local.url}/{BUCKET}/checked", f"x-amz-checksum-{name.lower()}"
    body = os.urandom(5000)

    def put(digest: bytes) -> requests.Response:
        value = base64.b64encode(digest).decode()
        headers = {"Authorization": SIGNED, "x-amz-sdk-checksum-algorithm": name}
        if place == "header":
            return requests.put(url, body, headers=headers | {header: value}, timeout=30)
        headers |= {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "Content-Encoding": "aws-chunked"}
        headers |= {"x-amz-decoded-content-length": "5000", "x-amz-trailer": header}
        framed = b"1388\r\n" + body + f"\r\n0\r\n{header}:{value}\r\n\r\n".encode()
        return requests.put(url, framed, headers=headers, timeout=30)

    digest = CHECKSUMS[name](body)
    refused = put(digest[::-1])
    assert (refused.status_code, "<Code>BadDigest<" in refused.text) == (400, True)
    assert put(digest).status_code == 200
    got = requests.get(url, headers={"Authorization": SIGNED, "x-amz-checksum-mode": "ENABLED"}, timeout=30)
    assert (got.content, got.headers[header]) == (body, base64.b64encode(digest).decode())
