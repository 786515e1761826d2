"""Makers of plain files: a copy of a source file, a member of a source archive, and labels."""

import shutil
import tarfile

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.ground.errors import EnsembleError

TOOLS: tuple[str, ...] = ()


def copy(job: Job) -> Facts:
    """The source file, unchanged."""
    shutil.copyfile(job.source_file(), job.output)
    return {}


def member(job: Job) -> Facts:
    """The member ``options.member`` of the source file, a tar archive. Raises :class:`EnsembleError`: it has none."""
    name = str(job.options["member"])
    with tarfile.open(job.source_file()) as archive:
        content = archive.extractfile(name) if name in archive.getnames() else None
        if content is None:
            raise EnsembleError(f"{job.file} has no file {name}", cure=f"it has {', '.join(archive.getnames())}")
        with content, job.output.open("wb") as output:
            shutil.copyfileobj(content, output)
    return {}


def numbered_labels(job: Job) -> Facts:
    """``options.count`` labels for a network with random weights: its classes mean nothing, so they have no names."""
    count = int(job.options["count"])
    job.output.write_text("".join(f"class {number} (random weights)\n" for number in range(count)))
    return {}
