"""mamba, micromamba and conda: the programs that solve and install an environment file themselves."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.environment.commands import CommandError, output_of
from triton_ensembles.environment.errors import ProviderUnavailableError
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.errors import EnsembleError

_CREATE = {
    "mamba": ("env", "create", "--prefix"),
    "micromamba": ("create", "--yes", "--prefix"),
    "conda": ("env", "create", "--prefix"),
}
# What requests, libcurl and reqwest say when a host can't be reached. Whatever isn't among it is taken for a fault of
# the file: a spec that has no solution must stop the build rather than be installed from elsewhere.
UNREACHABLE = re.compile(
    r"CondaHTTPError|HTTP 000|ConnectionError|ConnectionFailed|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|NewConnectionError|NameResolutionError|Name or service not known|Temporary failure in name resolution"
    r"|[Cc]ould ?n[o']t (?:resolve|connect)|[Cc]onnection (?:refused|reset|timed out)|[Nn]etwork is unreachable"
    r"|dns error|error sending request|Timeout was reached|Download error|OfflineError|[Nn]o such file or directory"
    r"|could not find subdir|UnavailableInvalidChannel|curl: \(\d+\)",
)


def install_with_program(program: str, spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object]) -> None:
    """Let ``program`` (mamba, micromamba or conda) create ``prefix`` from the file, channels and pip section included.

    Raises:
        ProviderUnavailableError: it isn't on PATH, or can't reach its channels.
        EnsembleError: it can, and says that the file has no solution.
    """
    executable = shutil.which(program)
    if not executable:
        raise ProviderUnavailableError(f"{program} isn't on PATH", installed=False)
    progress(f"solving and installing {spec.name} with {program}")
    settings = {**os.environ, "CONDA_ALWAYS_YES": "true", "MAMBA_ALWAYS_YES": "true", "PYTHONNOUSERSITE": "1"}
    # The text may be for another Python than the file that people wrote.
    file = prefix.with_name("environment.yml")
    file.write_text(spec.text, encoding="utf-8")
    try:
        output_of([executable, *_CREATE[program], prefix, "--file", file], environment=settings)
    except CommandError as error:
        shutil.rmtree(prefix, ignore_errors=True)
        if error.code == 127 or UNREACHABLE.search(error.output):
            raise ProviderUnavailableError(f"{program} can't reach its channels: {error.reason}") from error
        raise EnsembleError(f"{program} can't make this environment: {error.reason}", path=spec.path) from error
