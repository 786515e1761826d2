"""DALI of another version than the installed one: a serialised pipeline is for the DALI that wrote it, or a newer one.

It lies in a folder of its own under build/tools, is kept there, and nothing else ever imports it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from triton_ensembles.environment.programs import ProgramError, output_of
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import locked
from triton_ensembles.paths import BUILD

TOOLS = BUILD / "tools"


def full_version(version: str) -> str:
    """The version as packages have it: the image table says "1.36" for 1.36.0."""
    return version + ".0" * (2 - version.count("."))


def package_of(version: str) -> str:
    """The package that has this DALI. What a pipeline is serialised to doesn't depend on the CUDA it is made for."""
    major, minor, *_ = map(int, version.split("."))
    return "nvidia-dali-cuda120" if (major, minor) >= (1, 23) else "nvidia-dali-cuda110"


def dali_folder(version: str, tools: Path = TOOLS) -> Path:
    """A folder to import ``nvidia.dali`` of exactly this version from; pip fills it the first time (some 600 MB).

    Raises:
        EnsembleError: pip can't get it.
    """
    version = full_version(version)
    name = f"{package_of(version)}-{version}"
    folder, partial = tools / name, tools / f"{name}.partial"
    with locked(tools / f"{name}.lock"):
        if folder.is_dir():
            return folder
        shutil.rmtree(partial, ignore_errors=True)
        command: list[str | Path] = [sys.executable, "-m", "pip", "install", "--target", partial, "--no-compile"]
        command += ["--no-input", "--disable-pip-version-check", "--prefer-binary"]
        # pipelines/ imports numpy, which DALI 1.x does not ask for itself; the project's own stays below 2.
        requirements = [f"{package_of(version)}=={version}", "numpy<2"]
        try:
            output_of([*command, *requirements], environment=os.environ | {"PIP_USER": "0", "PYTHONNOUSERSITE": "1"})
            partial.rename(folder)
        except ProgramError as error:
            raise EnsembleError(
                f"the image's DALI {version} is needed to serialise the pipeline, and {_reason(error)}",
                cure=f"put the wheel of {requirements[0]} into a folder that PIP_FIND_LINKS names, or build where pip "
                "reaches its index and NVIDIA's",
            ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def serialize_with(version: str, script: Path, output: Path, device: str, tools: Path = TOOLS) -> None:
    """Let the pipeline's script write ``output`` with exactly this DALI.

    Raises:
        EnsembleError: pip can't get it, or the script fails with it. DALI 1.35 and older write "mixed" only where there
            is a GPU; 1.53 needs none.
    """
    folder = dali_folder(version, tools)
    # -S: without this environment's site-packages, so that two versions of DALI and their libraries never mix.
    command: list[str | Path] = [sys.executable, "-S", "-B", script, output, "--device", device]
    try:
        output_of(command, environment=os.environ | {"PYTHONPATH": os.fspath(folder)})
    except ProgramError as error:
        if device == "mixed" and any(word in error.output for word in ("libcuda", "cuInit", "CUDA driver")):
            raise EnsembleError(
                f"DALI {full_version(version)} writes a pipeline that decodes on the GPU only where there is a GPU",
                path=script,
                cure="build on a machine with one; 1.53 and newer need none",
            ) from error
        raise EnsembleError(f"with DALI {full_version(version)} it fails: {error.reason}", path=script) from error


def _reason(error: ProgramError) -> str:
    if "No module named pip" in error.output:
        return f"{sys.executable} has no pip"
    if "placeholder package" in error.output:  # from 1.36 to 1.52 the public index has no more than that
        return "NVIDIA's package index, where pip is sent for it, can't be reached"
    if "Failed to establish a new connection" in error.output or "getaddrinfo failed" in error.output:
        return "pip's index can't be reached"
    return f"pip can't install it: {error.reason}"
