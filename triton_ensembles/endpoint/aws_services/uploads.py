"""The bodies of uploads, freed from the chunks that SDKs sign one by one.

moto decodes two of the four kinds of chunks, and stores what of a body that breaks off has come. The format:
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any

from typing_extensions import Buffer

from triton_ensembles.endpoint.aws_services.checksums import compute_checksum
from triton_ensembles.endpoint.aws_services.disk import Stored
from triton_ensembles.endpoint.aws_services.fault import Fault

_HEAD = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,16})(;[^\r\n]*)?\r\n")
_TRAILER = re.compile(rb"(?P<name>x-amz-checksum-[a-z0-9]+):[ \t]*(?P<value>[^\r\n]*?)[ \t]*\r?\n")
_CHUNK = 1 << 20
_KIND = "HTTP_X_AMZ_CONTENT_SHA256"
_CODING = "HTTP_CONTENT_ENCODING"
_INCOMPLETE = "You did not provide the number of bytes specified by the Content-Length HTTP header"


def received(stream: IO[bytes], environ: dict[str, Any]) -> bytes | Stored:
    """The object's bytes, in a file where there are many. ``environ`` of the request then has the checksum from the
    trailer, and no chunks any more."""
    stored = Stored.of(iter(lambda: stream.read(_CHUNK), b""))
    if environ.get(_KIND, "").startswith("STREAMING-"):
        stored = Stored.of(_pieces(stored.viewed(), environ))
        if environ.get("HTTP_X_AMZ_DECODED_CONTENT_LENGTH", str(len(stored))) != str(len(stored)):
            raise Fault("IncompleteBody", _INCOMPLETE)
        del environ[_KIND]
        codings = [coding.strip() for coding in environ.get(_CODING, "").split(",")]
        environ[_CODING] = ",".join(coding for coding in codings if coding.lower() != "aws-chunked")
    body = stored.viewed()
    algorithm = environ.get("HTTP_X_AMZ_SDK_CHECKSUM_ALGORITHM", "").upper()
    if algorithm and (header := f"HTTP_X_AMZ_CHECKSUM_{algorithm}") not in environ:  # moto would search the body for it
        environ[header] = compute_checksum(body, algorithm).decode()
    return body if isinstance(body, bytes) else stored


def _pieces(body: Buffer, environ: dict[str, Any]) -> Iterator[memoryview]:
    """The content of the chunks; ``environ`` gets what the trailer has."""
    view = memoryview(body)
    place = 0
    while True:
        head = _HEAD.match(body, place)
        if head is None:
            raise Fault("IncompleteBody", _INCOMPLETE)
        size = int(head["size"], 16)
        if not size:
            break
        place = head.end() + size + 2
        if place > len(view):
            raise Fault("IncompleteBody", _INCOMPLETE)
        yield view[head.end() : head.end() + size]
    for trailer in _TRAILER.finditer(body, head.end()):
        environ["HTTP_" + trailer["name"].decode().upper().replace("-", "_")] = trailer["value"].decode("latin-1")
