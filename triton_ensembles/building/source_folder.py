"""The folder of an ensemble as people write it: ensembles/NAME, a model repository and its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.folder import FOLDER as EXAMPLES
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config


def read_models(folder: Path) -> dict[str, ModelConfig]:
    """The config of each model by the name of its folder. Raises :class:`EnsembleError` when there is no model."""
    configs = {path.parent.name: read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))}
    if not configs:
        raise EnsembleError(f"there is no model here: no folder in it has a {CONFIG}", path=folder)
    return configs


def find_ensemble(folder: Path, configs: Mapping[str, ModelConfig]) -> str:
    """The one model that is an ensemble. Raises :class:`EnsembleError` when there are none or several."""
    names = [name for name, config in configs.items() if config.platform == "ensemble"]
    if len(names) != 1:
        found = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise EnsembleError(f'exactly one model must have platform: "ensemble", found {found}', path=folder)
    return names[0]


def written_paths(folder: Path) -> list[Path]:
    """Every file below ``folder``, and every version folder, which may be empty.

    Bytecode and the example requests of an ensemble are left out.
    """
    return [
        path
        for path in sorted(folder.rglob("*"))
        if not {"__pycache__", EXAMPLES}.intersection(path.relative_to(folder).parts[:-1])
        and (path.is_file() or (path.is_dir() and path.name.isdecimal()))
    ]
