"""Writes a folder as a .tar.gz whose bytes depend only on the folder's content.

Both what SageMaker calls a TargetModel and the packed environment inside it are written here. Members lie at the root
(``tar -C tree``), sorted, owned by root, with fixed times; the gzip header carries neither name nor time. The bytes are
the same wherever Python's zlib has the same version. Data that hardly shrinks is stored uncompressed.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.archive.gzip_member import BLOCK, GzipMember
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import file_digest, write_whole

_FIXED_TIME = 1_000_000_000  # 2001-09-09; not 0, which some tools print as "no date"
_PROGRESS_BYTES = 64 << 20


def write_archive(
    tree: Path, destination: Path, *, links: bool = False, progress: Callable[[str], object] = lambda _: None
) -> None:
    """Write the archive of ``tree`` to ``destination``, which is replaced only once the archive is complete.

    Args:
        links: whether symbolic links are allowed. SageMaker refuses archives with links; an environment's own archive
            needs them.
        progress: called with a line after every 64 MB.

    Raises:
        EnsembleError: the tree holds a special file, or a link that is not allowed.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(destination) as partial, partial.open("wb") as raw:
        with (
            GzipMember(raw) as stream,
            tarfile.open(  # type: ignore[call-overload]  # copybufsize is missing in its types
                fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=BLOCK, copybufsize=BLOCK
            ) as tar,
        ):
            reported = 0
            for path in _members(tree):
                _add(tar, path, path.relative_to(tree).as_posix(), links)
                if stream.taken - reported > _PROGRESS_BYTES:
                    reported = stream.taken
                    progress(f"packing {destination.name}: {reported / 1e6:.0f} MB so far")
        raw.flush()
        os.fsync(raw.fileno())


def remove_leftovers(destination: Path) -> None:
    """Remove the partial files that killed builds left beside ``destination``. The caller holds the build's lock."""
    for leftover in destination.parent.glob(f".{destination.name}.*"):
        leftover.unlink()


def _members(tree: Path) -> list[Path]:
    return sorted(tree.rglob("*"), key=lambda path: path.relative_to(tree).as_posix())


def _add(tar: tarfile.TarFile, path: Path, name: str, links: bool) -> None:
    member = tarfile.TarInfo(name)
    member.mtime = _FIXED_TIME
    member.uname = member.gname = "root"
    if path.is_symlink() and links:
        member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, os.fspath(path.readlink())
        tar.addfile(member)
    elif path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise EnsembleError("SageMaker refuses archives with links or special files", path=path)
    elif path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
    else:
        member.size = path.stat().st_size
        member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        if name.endswith(".tar.gz"):
            # Triton caches an extracted environment by path and mtime, even after the model is unloaded (pb_env.cc).
            # A new environment under an old path therefore needs a new time.
            member.mtime += int(file_digest(path)[:7], 16)
        with path.open("rb") as content:
            tar.addfile(member, content)
