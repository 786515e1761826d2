"""The members of an archive that SageMaker unpacks: files and folders, whose names stay below the model's folder."""

from pathlib import Path

from triton_ensembles.archive.budget import ArchiveError
from triton_ensembles.archive.tar import safe_path, unsafe_because
from triton_ensembles.archive.tar_stream import Member
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.paths import COMMAND

CURES = {
    "sagemaker-unsafe-member": "pack with relative names: tar -C folder -czf name.tar.gz .",
    "sagemaker-symbolic-link": "pack what the link points to: tar -h (--dereference)",
    "sagemaker-hard-link": "store the file itself: tar --hard-dereference",
    "sagemaker-device": "leave it out of the archive",
}
"""The cure for an :class:`ArchiveError` of :func:`plain_path`, by its rule."""


def refuse_missing(path: Path) -> None:
    """Raise :class:`EnsembleError` when there is no file at ``path``."""
    if path.exists() and not path.is_file():
        raise EnsembleError("this is not an archive", path=path, cure="name a file *.tar.gz, which build writes")
    if not path.is_file():
        raise UsageError("there is no such archive", path=path, cure=f"name a .tar.gz, or run: {COMMAND} build")


def plain_path(member: Member) -> str:
    """Return the path of a file or folder; "" for the root itself, which tar lists.
    Raises :class:`ArchiveError`: it is a link or a device, or its name leads outside."""
    name = safe_path(member.name)
    if not name and not (member.is_folder and set(member.name) <= set("./") and ".." not in member.name):
        raise ArchiveError("sagemaker-unsafe-member", unsafe_because(member.name))
    if member.type == b"2":
        raise ArchiveError("sagemaker-symbolic-link", f"'{member.name}' is a symbolic link to '{member.target}'")
    if member.type == b"1":
        raise ArchiveError("sagemaker-hard-link", f"'{member.name}' is a hard link to '{member.target}'")
    if not (member.is_file or member.is_folder):
        raise ArchiveError("sagemaker-device", f"'{member.name}' is a device or a pipe")
    return name
