"""Environments from conda's channels, solved and installed by a program (mamba, micromamba, conda) or by py-rattler."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.environment.pins import Pins
from triton_ensembles.environment.pypi import pip_install
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.errors import EnsembleError
from triton_ensembles.programs import ProgramError, output_of

_CREATE = {
    "mamba": ("env", "create", "--prefix"),
    "micromamba": ("create", "--yes", "--prefix"),
    "conda": ("env", "create", "--prefix"),
}
# What requests, libcurl and reqwest print when a host cannot be reached. Any other failure counts as a fault of the
# file: a spec without a solution must stop the build and not be installed from somewhere else.
_UNREACHABLE = re.compile(
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


def install_with_program(
    program: str, spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object], pins: Pins
) -> None:
    """Let ``program`` (mamba, micromamba or conda) create ``prefix`` from the channels.

    The pip section is installed afterwards, not by the program: what its pip would find could not be locked.

    Raises:
        ProviderUnavailableError: it is not on PATH, or cannot reach its channels.
        EnsembleError: it says that the file has no solution, or fails for another reason.
    """
    executable = shutil.which(program)
    if not executable:
        raise ProviderUnavailableError(f"{program} is not on PATH", installed=False)
    progress(f"solving and installing {spec.name} with {program}")
    settings = {**os.environ, "CONDA_ALWAYS_YES": "true", "MAMBA_ALWAYS_YES": "true", "PYTHONNOUSERSITE": "1"}
    file = prefix.with_name("environment.yml")
    file.write_text(pins.conda_spec(spec).text, encoding="utf-8")
    try:
        output_of([executable, *_CREATE[program], prefix, "--file", file], environment=settings)
    except ProgramError as error:
        shutil.rmtree(prefix, ignore_errors=True)
        if error.code == 127 or _UNREACHABLE.search(error.output):
            raise ProviderUnavailableError(f"{program} cannot reach its channels: {error.reason}") from error
        raise EnsembleError(f"{program} cannot make this environment: {error.reason}", path=spec.path) from error
    pins.note_conda(prefix)
    minors = [path.name.removeprefix("python") for path in prefix.glob("lib/python3.*") if path.is_dir()]
    if len(minors) != 1:
        raise EnsembleError("there is no python among the packages", path=spec.path, cure="add `- python=3.11`")
    pip_install(spec, spec.pip_packages, prefix, minors[0], progress, pins)


def install_with_rattler(spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object], pins: Pins) -> None:
    """Solve ``spec`` for linux-64 from its channels (names, URLs, ``file://`` folders) and install it.

    py-rattler is pixi's solver and installer as a library, for machines without a conda program.

    Raises:
        ProviderUnavailableError: the library is not installed, or a channel cannot be reached.
        EnsembleError: the channels have no solution.
    """
    try:
        import rattler  # noqa: F401
    except ImportError as error:
        raise ProviderUnavailableError("the library py-rattler is not installed", installed=False) from error
    progress(f"solving and installing {spec.name} with py-rattler")
    try:
        import asyncio  # check imports this module, and solves nothing

        minor = asyncio.run(_solve_and_install(pins.conda_spec(spec), prefix))
    except BaseException:
        shutil.rmtree(prefix, ignore_errors=True)
        raise
    pins.note_conda(prefix)
    pip_install(spec, spec.pip_packages, prefix, minor, progress, pins)


async def _solve_and_install(spec: EnvironmentSpec, prefix: Path) -> str:
    import rattler
    from rattler.exceptions import GatewayError, SolverError

    try:
        records = await rattler.solve(
            sources=list(spec.channels),
            specs=list(spec.conda_specs),
            platforms=["linux-64", "noarch"],
            virtual_packages=rattler.VirtualPackage.detect(),
        )
    except GatewayError as error:
        raise ProviderUnavailableError(f"py-rattler cannot reach its channels: {_one_line(error)}") from error
    except SolverError as error:
        raise EnsembleError(f"the channels have no solution: {_one_line(error)}", path=spec.path) from error
    except Exception as error:
        raise EnsembleError(f"py-rattler cannot read this file: {_one_line(error)}", path=spec.path) from error
    try:
        await rattler.install(records, target_prefix=prefix, show_progress=False)
    except Exception as error:
        if _UNREACHABLE.search(str(error)):
            raise ProviderUnavailableError(f"py-rattler cannot download a package: {_one_line(error)}") from error
        raise EnsembleError(
            f"py-rattler cannot install this environment: {_one_line(error)}", path=spec.path
        ) from error
    python = [str(record.version) for record in records if record.name.normalized == "python"]
    if not python:
        raise EnsembleError("there is no python among the packages", path=spec.path, cure="add `- python=3.11`")
    return ".".join(python[0].split(".")[:2])


def _one_line(error: Exception) -> str:
    return ": ".join(line.strip().removeprefix("Caused by: ") for line in str(error).splitlines() if line.strip())
