"""The models of an archive, and what each is called in a clone of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.fused.plan import STEPS
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, parse_config

ENVIRONMENT = "EXECUTION_ENV_PATH"  # it may name another step's folder


@dataclass(frozen=True)
class ModelNames:
    """The names of an archive's models."""

    models: frozenset[str]  # the folders at the root that are models; none where the root itself is one
    # the model that SageMaker's container serves, and that a clone is named after: the ensemble that is not a step of
    # another, or the only model; "" where there are several, or none
    top: str

    def of(self, model: str, clone: str) -> str:
        """Name of ``model`` in ``clone``: ``clone`` itself, ``clone.step``, or as before if it is no model."""
        if model not in self.models:
            return model
        if self.top and (model == self.top or model.startswith(f"{self.top}.")):
            return clone + model.removeprefix(self.top)
        return f"{clone}.{model}"

    def in_recipe(self, path: str) -> str:
        """The path that the file at ``path`` in the archive has in a recipe, where steps have their names in git."""
        parts = path.removeprefix(f"{self.top}.").split("/") if self.top else path.split("/")
        return "/".join(parts[3:] if parts[0] == self.top and parts[2:3] == [STEPS] else parts)

    def rename(self, config: ModelConfig, folder: str, clone: str) -> None:
        """Give the config of the model in ``folder`` the names of ``clone``; "" is the root of the archive."""
        config.name = self.of(folder, clone) if folder else clone
        if ENVIRONMENT in config.parameters:  # reading a missing key of a protobuf map would add it
            value = config.parameters[ENVIRONMENT]
            parts = value.string_value.split("/")
            after = zip(["", *parts], parts, strict=False)
            value.string_value = "/".join(self.of(part, clone) if before == ".." else part for before, part in after)
        for step in config.ensemble_scheduling.step:
            step.model_name = self.of(step.model_name, clone)


def model_names(paths: Iterable[str], configs: Mapping[str, str], archive: Path) -> ModelNames:
    """The names in an archive with these files and folders (without ``./``). ``configs``: the text of each config.pbtxt
    by its path. Raises :class:`EnsembleError`: there is no model, or a config cannot be read."""
    parsed = {path.rpartition("/")[0]: parse_config(text, archive / path) for path, text in configs.items()}
    if "" in parsed:
        return ModelNames(frozenset(), "")
    parts = [path.split("/") for path in paths]
    versions = {pieces[0] for pieces in parts if len(pieces) > 1 and pieces[1].isdecimal()}
    models = frozenset(parsed) | versions
    if not models:
        message = f"there is no model at the root of this archive: no folder there has a {CONFIG} or a version folder"
        cure = "pack what is in the folder of the models: tar -C FOLDER -czf NAME.tar.gz ."
        raise EnsembleError(message, path=archive, cure=cure)
    steps = {step.model_name for config in parsed.values() for step in config.ensemble_scheduling.step}
    ensembles = [name for name, config in parsed.items() if config.platform == "ensemble" and name not in steps]
    tops = ensembles or sorted(models)
    return ModelNames(models, tops[0] if len(tops) == 1 else "")
