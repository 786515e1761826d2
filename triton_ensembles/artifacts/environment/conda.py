"""Environments from conda's channels, solved and installed by py-rattler: pixi's solver and installer as a library."""

import re
import shutil
from pathlib import Path

from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pypi import pip_install
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec

# What reqwest says of a host that cannot be reached, and rattler of a channel in a folder that is gone.
_UNREACHABLE = re.compile(
    r"error sending request|dns error|[Cc]onnection (?:refused|reset|timed out)|[Nn]etwork is unreachable|timed out"
    r"|[Nn]o such file or directory"
)


class ProviderUnavailableError(Exception):
    """A provider is not installed here or cannot reach its channels: a line for people. The next one is tried."""


def install_with_rattler(spec: EnvironmentSpec, prefix: Path, progress: Progress, pins: Pins) -> None:
    """Solve ``spec`` for linux-64 from its channels (names, URLs, ``file://`` folders) and install it, afterwards its
    pip section with pip, which locks it. Raises :class:`ProviderUnavailableError`: the library is not installed, or a
    channel cannot be reached; :class:`EnsembleError`: the channels have no solution."""
    try:
        import rattler  # noqa: F401
    except ImportError as error:
        raise ProviderUnavailableError("the library py-rattler is not installed") from error
    progress(f"solving and installing {spec.name} with py-rattler")
    import asyncio  # check imports this module, and solves nothing

    try:
        minor = asyncio.run(_solve_and_install(spec, pins.conda_specs(spec), prefix))
    except BaseException:
        shutil.rmtree(prefix, ignore_errors=True)
        raise
    pins.note_conda(prefix)
    pip_install(spec, spec.pip_packages, prefix, minor, progress, pins)


async def _solve_and_install(spec: EnvironmentSpec, match_specs: tuple[str, ...], prefix: Path) -> str:
    import rattler
    from rattler.exceptions import GatewayError, SolverError

    try:
        records = await rattler.solve(
            sources=list(spec.channels),
            specs=list(match_specs),
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
        message = f"py-rattler cannot install this environment: {_one_line(error)}"
        raise EnsembleError(message, path=spec.path) from error
    python = [str(record.version) for record in records if record.name.normalized == "python"]
    if not python:
        raise EnsembleError("there is no python among the packages", path=spec.path, cure="add `- python=3.11`")
    return ".".join(python[0].split(".")[:2])


def _one_line(error: Exception) -> str:
    return ": ".join(line.strip().removeprefix("Caused by: ") for line in str(error).splitlines() if line.strip())
