"""py-rattler: pixi's solver and installer as a library, for machines without a conda program."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.environment.conda import UNREACHABLE, ProviderUnavailableError
from triton_ensembles.environment.pypi import pip_install
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.errors import EnsembleError


def install_with_rattler(spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object]) -> None:
    """Solve ``spec`` for linux-64 from its channels (names, URLs, ``file://`` folders) and install it.

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
        minor = asyncio.run(_solve_and_install(spec, prefix))
    except BaseException:
        shutil.rmtree(prefix, ignore_errors=True)
        raise
    pip_install(spec, spec.pip_packages, prefix, minor, progress)


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
        if UNREACHABLE.search(str(error)):
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
