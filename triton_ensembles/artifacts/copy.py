"""A file of the source, as it is."""

from __future__ import annotations

import shutil

from triton_ensembles.artifacts import Facts, Job

TOOLS: tuple[str, ...] = ()


def make(job: Job) -> Facts:
    assert job.file is not None, "a recipe that copies names the file"
    shutil.copyfile(job.files[job.file], job.output)
    return {}
