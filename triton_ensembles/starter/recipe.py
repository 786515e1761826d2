"""The text of the recipe, and of the environment file, of an imported ensemble."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from triton_ensembles.building.packed.manifest import holds_weights
from triton_ensembles.ground.files import file_digest
from triton_ensembles.starter.steps import Packages
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.model_formats import PLATFORMS
from triton_ensembles.version import __version__

_POINTER = b"version https://git-lfs.github.com/"


def weights_in(folder: Path, configs: Mapping[str, ModelConfig]) -> list[str]:
    """A line for each file of the ensemble in ``folder`` that may hold weights: its path, size and sha256."""
    lines = []
    for name, config in configs.items():
        for path in sorted((folder / name).glob("[0-9]*/**/*")):
            if path.is_file() and _holds_weights(backend_of(config), path):
                size = path.stat().st_size / 1e6
                lines.append(f"{path.relative_to(folder).as_posix()}  {size:.1f} MB  sha256 {file_digest(path)}")
    return lines


def backend_of(config: ModelConfig) -> str:
    """The backend, also where the config only has its platform; "ensemble" for an ensemble."""
    return str(config.backend or PLATFORMS.get(config.platform, config.platform))


def _holds_weights(backend: str, path: Path) -> bool:
    """Without what keeps a folder in git, libraries of packages, and pointers of Git LFS."""
    if backend == ENSEMBLE or path.name.startswith(".") or ".so" in path.suffixes:
        return False
    with path.open("rb") as file:
        return file.read(len(_POINTER)) != _POINTER and holds_weights(backend, path)


def recipe_text(source: str, weights: list[str], environments: Iterable[Packages]) -> str:
    """The text of ensemble.toml: of an import of ``source``, with the lines of :func:`weights_in`."""
    lines = ["# The recipe: what git does not hold.", "", f'requires = ">={__version__}"']
    lines += [f"description = {json.dumps(f'Imported from {source}')}", ""]
    if weights:
        lines += ['# Files that came with the models. Builds pack them as they are, and call the weights "provided".']
        lines += [*(f"# {line}" for line in weights), ""]
    for packages in environments:
        steps = ", ".join(map(json.dumps, packages.steps))
        lines += [f"[environments.{packages.name}]", f"file = {json.dumps(packages.file)}", f"steps = [{steps}]"]
        lines += ['kind = "wheels" # the packages\' files beside model.py: small, and loaded fast', ""]
    return "\n".join(lines)


def environment_text(name: str, packages: Packages) -> str:
    """The environment file. What has no version here gets one from the first build, which locks it."""
    lines = ["# What model.py of the Python steps imports besides numpy, which Triton's own Python has."]
    lines += [f"name: {json.dumps(name)}", "channels:", "  - conda-forge", "dependencies:", "  - pip:"]
    return "\n".join([*lines, *(f"      - {json.dumps(line)}" for line in packages.requirements), ""])
