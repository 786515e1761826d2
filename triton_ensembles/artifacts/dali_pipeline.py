"""A serialized DALI pipeline, written by the DALI that will read it: only that one, or a newer one, reads it.

``options.pipeline`` is a script with ``write(path, device)`` and the command line ``script OUTPUT --device DEVICE``.
For ``options.graph``, one of several graphs in it, they are ``write(path, device, graph)`` and ``… --graph GRAPH``. A
DALI of another version than the installed one gets its own folder in build/tools, which nothing else imports.
"""

import os
import sys
from importlib.metadata import version
from pathlib import Path

from triton_ensembles.artifacts import Facts, Job, load_script
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked, remove_partials, write_whole
from triton_ensembles.ground.pip import run_pip
from triton_ensembles.ground.programs import ProgramError, output_of

TOOLS = ("nvidia-dali-cuda130",)
DIFFERS_BY_DALI = True


def make(job: Job) -> Facts:
    path = job.root / str(job.options["pipeline"])
    installed = version(TOOLS[0])
    dali = full_version(job.dali_version) if job.dali_version else installed
    if dali != installed:
        _serialize_with(dali_folder(dali, job.root / "build" / "tools"), dali, path, job)
    else:
        load_script(path).write(job.output, job.dali_device, *_graph(job))
    return {"device": job.dali_device, "dali": dali}


def full_version(version: str) -> str:
    """The version with three numbers, as packages have it: the table of releases has "1.36" for 1.36.0."""
    return version + ".0" * (2 - version.count("."))


def package_of(version: str) -> str:
    """The package of this DALI. The CUDA that it is built for makes no difference to serialized pipelines."""
    major, minor, *_ = map(int, version.split("."))
    return "nvidia-dali-cuda120" if (major, minor) >= (1, 23) else "nvidia-dali-cuda110"


def dali_folder(version: str, tools: Path) -> Path:
    """A folder to import ``nvidia.dali`` of exactly this version from; pip fills it the first time (about 600 MB).
    Raises :class:`EnsembleError`: pip cannot install it."""
    version = full_version(version)
    name = f"{package_of(version)}-{version}"
    folder = tools / name
    with locked(tools / f"{name}.lock"):
        if folder.is_dir():
            return folder
        remove_partials(folder)
        # pipelines/ imports numpy, which DALI 1.x does not require itself; the project's own stays below 2.
        requirements = [f"{package_of(version)}=={version}", "numpy<2"]
        with write_whole(folder) as partial:
            try:
                run_pip("install", "--target", partial, "--no-compile", "--prefer-binary", *requirements)
            except ProgramError as error:
                message = f"the pipeline must be serialized with the image's DALI {version}, and {_reason(error)}"
                cure = f"put the wheel of {requirements[0]} into a folder that PIP_FIND_LINKS names"
                cure += ", or build where pip reaches its index and NVIDIA's"
                raise EnsembleError(message, cure=cure) from error
    return folder


def _graph(job: Job) -> list[str]:
    return [str(job.options["graph"])] if "graph" in job.options else []


def _serialize_with(folder: Path, version: str, script: Path, job: Job) -> None:
    """Run the pipeline's script, which writes ``job.output``, with exactly this DALI, imported from ``folder``. DALI up
    to 1.35 writes "mixed" only on a machine with a GPU; 1.53 does not need one."""
    # -S: without this environment's site-packages, so that two versions of DALI and their libraries never mix.
    command: list[str | Path] = [sys.executable, "-S", "-B", script, job.output, "--device", job.dali_device]
    command += [argument for graph in _graph(job) for argument in ("--graph", graph)]
    try:
        output_of(command, environment=os.environ | {"PYTHONPATH": os.fspath(folder)})
    except ProgramError as error:
        if job.dali_device == "mixed" and any(word in error.output for word in ("libcuda", "cuInit", "CUDA driver")):
            message = f"DALI {version} writes a pipeline that decodes on the GPU only on a machine with a GPU"
            cure = "build on such a machine, or for an image with DALI 1.53 or newer"
            raise EnsembleError(message, path=script, cure=cure) from error
        raise EnsembleError(f"this script fails with DALI {version}: {error.reason}", path=script) from error


def _reason(error: ProgramError) -> str:
    if "placeholder package" in error.output:  # all that the public index has of 1.36 to 1.52
        return "NVIDIA's package index, which has it, cannot be reached"
    if "Failed to establish a new connection" in error.output or "getaddrinfo failed" in error.output:
        return "pip's index cannot be reached"
    return f"pip cannot install it: {error.reason}"
