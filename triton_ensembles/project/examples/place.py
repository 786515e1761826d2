"""Where the examples of an ensemble lie. Nothing here needs NumPy, as reading them does."""

from pathlib import Path

from triton_ensembles.triton.model_config import CONFIG, read_config

FOLDER = "examples"
"""The folder of example requests in that of a model, or of the ensemble model of an ensemble."""


def examples_folder(ensemble: Path) -> Path:
    """``examples/`` in the folder of the ensemble model of ``ensemble`` (a folder in ensembles/); it may not exist."""
    for config in sorted(ensemble.glob(f"*/{CONFIG}")):
        if read_config(config).platform == "ensemble":
            return config.parent / FOLDER
    return ensemble / "ensemble" / FOLDER
