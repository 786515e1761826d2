"""A serialised DALI pipeline: ``options.pipeline`` is a script with ``write(path, device)``."""

from __future__ import annotations

import importlib.util

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.paths import ROOT

TOOLS = ("nvidia-dali-cuda130",)


def make(job: Job) -> Facts:
    path = ROOT / str(job.options["pipeline"])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.write(job.output, job.dali_device)
    return {"device": job.dali_device}
