"""The checksums that boto3 computes without a further package: moto writes a CRC32 or a SHA256 under other names.

CRC32C and CRC64NVME, which AWS's command line sends, are kept as they came, and not compared.
"""

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import Any

from triton_ensembles.endpoint.aws_services.fault import Fault

CHECKSUMS: dict[str, Callable[[Any], bytes]] = {
    "CRC32": lambda body: zlib.crc32(body).to_bytes(4, "big"),
    "SHA1": lambda body: hashlib.sha1(body, usedforsecurity=False).digest(),
    "SHA256": lambda body: hashlib.sha256(body).digest(),
}


def compute_checksum(body: Any, algorithm: str, encode_base64: bool = True) -> bytes:
    """Do what moto's function of this name does, also for a body in a file (disk.py)."""
    if algorithm not in CHECKSUMS:
        message = f"The checksum {algorithm} is not computed locally: send its value, or choose CRC32 or SHA256."
        raise Fault("NotImplemented", message, 501)
    digest = CHECKSUMS[algorithm](body.mapped() if hasattr(body, "mapped") else body)
    return base64.b64encode(digest) if encode_base64 else digest
