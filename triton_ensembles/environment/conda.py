"""mamba, micromamba and conda: the programs that solve and install an environment file."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.environment.programs import ProgramError, output_of
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.errors import EnsembleError

_CREATE = {
    "mamba": ("env", "create", "--prefix"),
    "micromamba": ("create", "--yes", "--prefix"),
    "conda": ("env", "create", "--prefix"),
}
# What requests, libcurl and reqwest print when a host cannot be reached. Any other failure counts as a fault of the
# file: a spec without a solution must stop the build and not be installed from somewhere else.
UNREACHABLE = re.compile(
    r"CondaHTTPError|HTTP 000|ConnectionError|ConnectionFailed|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|NewConnectionError|NameResolutionError|Name or service not known|Temporary failure in name resolution"
    r"|[Cc]ould ?n[o']t (?:resolve|connect)|[Cc]onnection (?:refused|reset|timed out)|[Nn]etwork is unreachable"
    r"|dns error|error sending request|Timeout was reached|Download error|OfflineError|[Nn]o such file or directory"
    r"|could not find subdir|UnavailableInvalidChannel|curl: \(\d+\)"
)


class ProviderUnavailableError(Exception):
    """A provider is not installed here or cannot reach its channels, so that the next one is tried.

    The text is one line for the user. ``installed`` is false for a provider that is not installed, which is usual and
    therefore not reported.
    """

    def __init__(self, message: str, *, installed: bool = True) -> None:
        super().__init__(message)
        self.installed = installed


def install_with_program(program: str, spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object]) -> None:
    """Let ``program`` (mamba, micromamba or conda) create ``prefix`` from the file, channels and pip section included.

    Raises:
        ProviderUnavailableError: it is not on PATH, or cannot reach its channels.
        EnsembleError: it says that the file has no solution, or fails for another reason.
    """
    executable = shutil.which(program)
    if not executable:
        raise ProviderUnavailableError(f"{program} is not on PATH", installed=False)
    progress(f"solving and installing {spec.name} with {program}")
    settings = {**os.environ, "CONDA_ALWAYS_YES": "true", "MAMBA_ALWAYS_YES": "true", "PYTHONNOUSERSITE": "1"}
    # The spec may be for another Python than the user's file.
    file = prefix.with_name("environment.yml")
    file.write_text(spec.text, encoding="utf-8")
    try:
        output_of([executable, *_CREATE[program], prefix, "--file", file], environment=settings)
    except ProgramError as error:
        shutil.rmtree(prefix, ignore_errors=True)
        if error.code == 127 or UNREACHABLE.search(error.output):
            raise ProviderUnavailableError(f"{program} cannot reach its channels: {error.reason}") from error
        raise EnsembleError(f"{program} cannot make this environment: {error.reason}", path=spec.path) from error
