"""The key of an archive in S3: ``bert_trt-0a1b2c3d4e5f.tar.gz``, its name and digits of its SHA-256.

AWS ignores that the object under a key has changed while its model is loaded ("use a new and unique name"), so a key
contains a digest of the content.
"""

import re
from pathlib import Path

from triton_ensembles.archive.members import refuse_missing
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest

SUFFIX = ".tar.gz"
_DIGITS = 12
_KEY = re.compile(rf"(?P<name>.+?)(?P<digest>-[0-9a-f]{{{_DIGITS}}})?{re.escape(SUFFIX)}")


def archive_key(name: str, sha256: str) -> str:
    """The key of an archive, relative to its prefix: its TargetModel."""
    return f"{name}-{sha256[:_DIGITS]}{SUFFIX}"


def archive_name(path: Path) -> str:
    """Return the name of the archive at ``path``, without .tar.gz.
    Raises :class:`EnsembleError`: there is no file, or its name does not end so."""
    refuse_missing(path)
    if not path.name.endswith(SUFFIX):
        raise EnsembleError(f"SageMaker's multi-model endpoints serve archives named *{SUFFIX}", path=path)
    return path.name.removesuffix(SUFFIX)


def key_of(path: Path) -> str:
    """Return the key of the archive at ``path``."""
    return archive_key(archive_name(path), file_digest(path))


def has_digest(key: str) -> bool:
    """Return whether ``upload`` may have written this key."""
    match = _KEY.fullmatch(key)
    return match is not None and match["digest"] is not None


def archive_names(key: str) -> set[str]:
    """The names that an archive under ``key`` may have: with what looks like a digest, and without it."""
    match = _KEY.fullmatch(key)
    return {match["name"], key.removesuffix(SUFFIX)} if match else set()
