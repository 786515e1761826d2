"""The ensembles and the steps of an unpacked archive, or of a model repository."""

from contextlib import suppress
from pathlib import Path

from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.model_config import CONFIG, config_of, in_order

_LONGEST_CONFIG = 16 << 20  # bytes that are looked at: an archive may hold gigabytes under this name


def steps_in(repository: Path) -> frozenset[str]:
    """The models of the archive but its ensembles; none where there is no ensemble: Triton loads a single model."""
    ensembles = set(ensembles_in(repository))
    folders = {config.parent.name for config in repository.glob("*/config.pbtxt")}
    return frozenset(folders - ensembles if ensembles else ())


def ensembles_in(repository: Path) -> list[str]:
    """The folders that Triton's SageMaker front end takes for ensembles, sorted. It serves one of them."""
    ensembles = []
    for config in sorted(filter(Path.is_file, repository.glob("*/config.pbtxt"))):
        with config.open("rb") as file:
            if ENSEMBLE.search(file.read(_LONGEST_CONFIG).decode(errors="replace")):
                ensembles.append(config.parent.name)
    return ensembles


def is_model(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def steps_of(model: Path) -> tuple[str, ...]:
    """The steps of an ensemble's folder, which lie beside it; () for any other model, and for a damaged config."""
    with suppress(OSError, ValueError, KeyError):
        return tuple(step.model_name for step in in_order(config_of(model)))
    return ()
