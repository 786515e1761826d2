"""The providers that can install an environment, in the order in which they are tried."""

from pathlib import Path

from triton_ensembles.artifacts.environment.conda import ProviderUnavailableError, install_with_rattler
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pypi import install_from_pypi
from triton_ensembles.artifacts.environment.spec import EnvironmentSpec
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

PROVIDERS = {"rattler": install_with_rattler, "pypi": install_from_pypi}
_PROGRAMS = ("mamba", "micromamba", "conda")


def install(
    spec: EnvironmentSpec, prefix: Path, progress: Progress, provider: str | None = None, pins: Pins | None = None
) -> str:
    """Install ``spec`` into the new folder ``prefix`` and return the provider's name.

    The first of :data:`PROVIDERS` that is available is used, or ``provider`` if it is given. One that is not is
    reported to ``progress``, and the next is tried. Raises :class:`EnsembleError`: the file has no solution, or
    ``provider`` is not available."""
    if provider in _PROGRAMS:
        raise EnsembleError(f"the program {provider} is no longer used", cure="use rattler, which reads the same files")
    if provider not in (None, *PROVIDERS):
        raise EnsembleError(f"there is no provider {provider!r}", cure=f"choose one of {', '.join(PROVIDERS)}")
    pins = pins or Pins()
    able = [name for name in PROVIDERS if not pins.given or (name != "pypi") == pins.from_conda]
    for name in [provider] if provider else able:
        try:
            PROVIDERS[name](spec, prefix, progress, pins)
            return name
        except ProviderUnavailableError as error:
            if provider:
                raise EnsembleError(str(error), path=spec.path) from error
            progress(f"{error}; trying the next provider")
    raise EnsembleError(  # pypi is never unavailable
        "its lock was made with a conda channel, and none can be reached",
        path=spec.path,
        cure="build where one can, or delete the lock",
    )
