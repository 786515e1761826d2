"""How hypothesis draws: the suite has the same examples every time, ``make fuzz`` has new ones."""

import pkgutil
from importlib import import_module

import pytest
from hypothesis import HealthCheck, settings

import triton_ensembles

# No test depends on how fast the machine is.
_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# What runs inside tritonserver, or in other people's projects.
_NOT_IMPORTED_HERE = ("runtime", "starter.templates", "__main__")

settings.register_profile("suite", derandomize=True, **_ANY_MACHINE)
settings.register_profile("fuzz", derandomize=False, **_ANY_MACHINE)
settings.load_profile("suite")


def pytest_collection_finish(session: pytest.Session) -> None:
    """hypothesis also draws constants of the modules that are imported: all are, whichever tests ran before."""
    if not any(item.get_closest_marker("hypothesis") for item in session.items):
        return
    left_out = tuple(f"{triton_ensembles.__name__}.{name}" for name in _NOT_IMPORTED_HERE)
    for module in pkgutil.walk_packages(triton_ensembles.__path__, f"{triton_ensembles.__name__}."):
        if not module.name.startswith(left_out):
            import_module(module.name)
