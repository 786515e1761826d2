"""The .tar.gz that SageMaker calls a TargetModel: the same repository gives the same bytes, whenever it is packed.

Members stand at the root (``tar -C repository``), sorted, owned by root, and none is a link: SageMaker's extraction
refuses links. The gzip header carries neither name nor time.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.store import file_digest

# Weights hardly shrink (8 % for fp32), and level 9 takes three times as long as 6 to find nothing more.
LEVEL = 6
_FIXED_TIME = 1_000_000_000  # 2001-09-09; not 0, which some tools print as "no date"
_PROGRESS_BYTES = 64 << 20


def pack(repository: Path, destination: Path, progress: Callable[[str], None]) -> None:
    """Write the archive of ``repository`` beside ``destination``, then rename it into place.

    Raises:
        EnsembleError: when the repository holds a link or a special file.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(destination)
    try:
        with (
            partial.open("wb") as raw,
            gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as stream,
            tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            told = 0
            for path in _members(repository):
                _add(tar, path, path.relative_to(repository).as_posix())
                if stream.tell() - told > _PROGRESS_BYTES:
                    told = stream.tell()
                    progress(f"packing {destination.name}: {told / 1e6:.0f} MB so far")
        partial.replace(destination)
    finally:
        partial.unlink(missing_ok=True)


def _partial(destination: Path) -> Path:
    """A name beside the destination; what killed builds left there goes (the caller holds the build's lock)."""
    for leftover in destination.parent.glob(f".{destination.name}.*"):
        leftover.unlink()
    handle, name = tempfile.mkstemp(prefix=f".{destination.name}.", dir=destination.parent)
    os.close(handle)
    partial = Path(name)
    partial.chmod(0o644)
    return partial


def _members(repository: Path) -> list[Path]:
    return sorted(
        (path for path in repository.rglob("*") if "__pycache__" not in path.parts),
        key=lambda path: path.relative_to(repository).parts,
    )


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise EnsembleError("SageMaker refuses archives with links or special files", path=path)
    member = tarfile.TarInfo(name)
    member.mtime = _FIXED_TIME
    if path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
        return
    member.size = path.stat().st_size
    member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    if name.endswith(".tar.gz"):
        # Triton keeps an extracted environment by path and mtime, also after the model is unloaded (pb_env.cc).
        # A new environment under an old path must therefore not have the old time.
        member.mtime += int(file_digest(path)[:7], 16)
    with path.open("rb") as content:
        tar.addfile(member, content)
