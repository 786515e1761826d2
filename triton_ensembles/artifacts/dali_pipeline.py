"""A serialized DALI pipeline, written by the DALI that will read it.

``options.pipeline`` is a script with ``write(path, device)`` and the command line ``script OUTPUT --device DEVICE``.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import version

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.dali_install import full_version, serialize_with

TOOLS = ("nvidia-dali-cuda130",)
DIFFERS_BY_DALI = True


def make(job: Job) -> Facts:
    path = job.root / str(job.options["pipeline"])
    installed = version(TOOLS[0])
    wanted = full_version(job.dali_version) if job.dali_version else installed
    if wanted != installed:
        serialize_with(wanted, path, job.output, job.dali_device)
    else:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        script.write(job.output, job.dali_device)
    return {"device": job.dali_device, "dali": wanted}
