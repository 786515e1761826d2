"""manifest.json, at the root of every archive that this project builds: its inputs and its target."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_json

MANIFEST = "manifest.json"
GATEWAY_TABLE = "models.toml"  # beside the models that the gateway serves
FACTS = frozenset({"python", "weights", "artifacts", "environments"})
"""The parts of a manifest that commands read."""
RANDOM, PROVIDED, PRETRAINED = "random", "provided", "pretrained"
"""The values of ``weights``: some are seeded random ones, some came by hand, all are those of the recipe's sources."""


def read_manifest(repository: Path) -> dict[str, Any]:
    """The manifest of an unpacked archive; empty without one, and where the file is something else."""
    try:
        manifest = read_json(repository / MANIFEST)
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def random_weights(names: str) -> str:
    """Return the warning about random weights, wherever it is printed."""
    return f"{names} HAS RANDOM WEIGHTS: a source of the real ones was not available, so its answers mean nothing"


def python_of(repositories: Mapping[str, Path]) -> str:
    """The Python of a server for these unpacked archives (by name), as their manifests say; see :func:`one_python`."""
    return one_python({name: str(read_manifest(folder).get("python", "")) for name, folder in repositories.items()})


def one_python(pythons: Mapping[str, str]) -> str:
    """The Python of a server for these archives (by name), such as "3.10"; "" where it does not matter. Raises
    :class:`EnsembleError`: they are for different ones, and the stubs of one server are of one Python."""
    chosen = {name: python for name, python in pythons.items() if python}
    if len(set(chosen.values())) > 1:
        named = ", ".join(f"{name} for Python {python}" for name, python in sorted(chosen.items()))
        raise EnsembleError(f"one server runs one Python, but {named}", cure="name those of one Python")
    return next(iter(chosen.values()), "")
