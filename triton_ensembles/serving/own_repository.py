"""Archives and single models as repositories of their own: unpacked, or linked with the steps beside them."""

import re
from pathlib import Path

from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config

_SUFFIXES = (".tar.gz", ".tgz", ".tar")
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]+")  # Triton passes the path of an environment to a shell


def name_of(path: Path) -> str:
    """Return ``bert`` for ``models/bert``, ``bert.tar.gz`` and ``./bert/``; only letters, digits and ``._-``."""
    name = path.resolve().name
    suffix = next((ending for ending in _SUFFIXES if path.is_file() and name.endswith(ending)), "")
    return _UNSAFE.sub("_", name.removesuffix(suffix)).strip(".") or "model"


def unpacked(archive: Path, folder: Path) -> Path:
    """Return the repository in ``archive``, unpacked into the empty ``folder`` as SageMaker unpacks it.

    With a config.pbtxt at its root it is one model, and has the name in it, or else that of the archive. SageMaker's
    container calls the model that it serves by the archive's name, whatever its config says, so a name there that is
    not the folder's is no fault; the folder then gets that name, by which a client of KServe v2 asks for it. Raises
    :class:`EnsembleError`: it cannot be unpacked."""
    repository = folder / "models"
    extract(archive, repository, lambda _: None)
    if (repository / CONFIG).is_file():
        name = read_config(repository / CONFIG).name or name_of(archive)
        repository.rename(folder / "model")
        repository.mkdir()
        (folder / "model").rename(repository / _UNSAFE.sub("_", name))
        return repository
    configs = {path.parent: read_config(path) for path in repository.glob(f"*/{CONFIG}")}
    steps = {step for config in configs.values() for step in _steps(config)}
    for model, config in configs.items():
        named = model.with_name(_UNSAFE.sub("_", config.name)) if config.name else model
        if model.name not in steps and not named.exists():
            model.rename(named)
    return repository


def linked(model: Path, folder: Path) -> Path:
    """Return a repository in the empty ``folder``: a link to ``model`` and, of an ensemble, to the steps beside it."""
    repository = folder / "models"
    repository.mkdir()
    waiting = [(model.resolve(), "")]
    while waiting:
        path, step = waiting.pop()
        config = read_config(path / CONFIG) if (path / CONFIG).is_file() else ModelConfig()
        link = repository / (step or config.name or name_of(path))
        if path.is_dir() and not link.is_symlink():
            link.symlink_to(path)
            waiting += [(path.parent / name, name) for name in _steps(config)]
    return repository


def _steps(config: ModelConfig) -> list[str]:
    return [step.model_name for step in config.ensemble_scheduling.step]
