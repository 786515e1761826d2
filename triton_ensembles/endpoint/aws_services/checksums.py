"""The checksums that S3 knows: moto writes a CRC32 or a SHA256 under the names of those it lacks.

boto3 sends CRC32. CRC32C and CRC64NVME, which AWS's command line sends, need awscrt here as in boto3; without it their
values are kept as they came, like those of XXHASH.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from triton_ensembles.endpoint.aws_services.fault import Fault

CHECKSUMS: dict[str, Callable[[Any], bytes]] = {
    "CRC32": lambda body: zlib.crc32(body).to_bytes(4, "big"),
    "SHA1": lambda body: hashlib.sha1(body, usedforsecurity=False).digest(),
    "SHA256": lambda body: hashlib.sha256(body).digest(),
    "SHA512": lambda body: hashlib.sha512(body).digest(),
    "MD5": lambda body: hashlib.md5(body, usedforsecurity=False).digest(),
}
if find_spec("awscrt"):
    awscrt = import_module("awscrt.checksums")
    CHECKSUMS["CRC32C"] = lambda body: awscrt.crc32c(body).to_bytes(4, "big")
    CHECKSUMS["CRC64NVME"] = lambda body: awscrt.crc64nvme(body).to_bytes(8, "big")


def compute_checksum(body: Any, algorithm: str, encode_base64: bool = True) -> bytes:
    """moto's function of this name, also of a body in a file (disk.py)."""
    if algorithm not in CHECKSUMS:
        message = f"The checksum {algorithm} is not computed locally: send its value, or choose CRC32 or SHA256."
        raise Fault("NotImplemented", message, 501)
    digest = CHECKSUMS[algorithm](body.mapped() if hasattr(body, "mapped") else body)
    return base64.b64encode(digest) if encode_base64 else digest
