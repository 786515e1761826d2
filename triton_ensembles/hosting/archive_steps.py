"""The ensembles and the steps of an unpacked archive, or of a model repository."""

import json
from contextlib import suppress
from pathlib import Path

from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.model_config import CONFIG, config_of, in_order

_LONGEST_CONFIG = 16 << 20  # bytes that are looked at: an archive may hold gigabytes under this name


def steps_in(repository: Path) -> frozenset[str]:
    """The models of the archive but its ensembles; none where there is no ensemble: Triton loads a single model."""
    ensembles = set(ensembles_in(repository))
    folders = {config.parent.name for config in repository.glob("*/config.pbtxt")}
    return frozenset(folders - ensembles if ensembles else ())


def order_in(repository: Path) -> tuple[str, ...]:
    """The steps in the DAG's order, those of a fused archive as well; () where it is damaged, which Triton refuses."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        for plan in repository.glob(f"*/*/{PLAN}"):
            return tuple(step["name"] for step in json.loads(plan.read_text())["steps"])
        ensembles = [config_of(repository / name) for name in ensembles_in(repository)]
        return tuple(step.model_name for ensemble in ensembles for step in in_order(ensemble))
    return ()


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
