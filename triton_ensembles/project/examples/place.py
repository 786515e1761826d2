"""Where the examples of an ensemble lie. Nothing here needs NumPy, as reading them does."""

from pathlib import Path

from triton_ensembles.triton.model_config import CONFIG, read_config

FOLDER = "examples"
"""The folder of example requests in that of a model, or of the ensemble model of an ensemble."""


def examples_folder(ensemble: Path) -> Path:
    """``examples/`` in the folder of the ensemble model of ``ensemble`` (a folder in ensembles/); it may not exist.
    Where models call ensembles, that of the model ``ensemble``, as ``new`` calls what it writes around them."""
    configs = {path.parent: read_config(path) for path in sorted(ensemble.glob(f"*/{CONFIG}"))}
    steps = {use.model_name for config in configs.values() for use in config.ensemble_scheduling.step}
    outer = [path for path, config in configs.items() if config.platform == "ensemble" and path.name not in steps]
    return (outer[0] if len(outer) == 1 else ensemble / "ensemble") / FOLDER
