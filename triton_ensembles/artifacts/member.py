"""One member of a tar archive of the source; ``options.member`` names it."""

from __future__ import annotations

import shutil
import tarfile

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.errors import EnsembleError

TOOLS: tuple[str, ...] = ()


def make(job: Job) -> Facts:
    assert job.file is not None, "a recipe that takes a member names the archive"
    name = str(job.options["member"])
    with tarfile.open(job.files[job.file]) as archive:
        try:
            content = archive.extractfile(name)
        except KeyError:
            content = None
        if content is None:
            raise EnsembleError(f"{job.file} has no file {name}", cure=f"it has {', '.join(archive.getnames())}")
        with content, job.output.open("wb") as output:
            shutil.copyfileobj(content, output)
    return {}
