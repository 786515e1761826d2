"""The environments of an archive, put beside its models: there, they have the same paths in every clone.

Every path in a model's folder has the model's name in it. At the root, an environment is the same bytes in each clone.
"""

import posixpath
import tarfile
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import count
from typing import TypeVar

from triton_ensembles.archive.model_names import ENVIRONMENT, ModelNames
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config, parse_config

_FOLDER = "environment"
_HERE = "$$TRITON_MODEL_DIRECTORY/"
Content = TypeVar("Content")


def common_environments(
    members: Sequence[tuple[tarfile.TarInfo, bytes | Content]], names: ModelNames
) -> list[tuple[tarfile.TarInfo, bytes | Content]]:
    """The members of an archive with their environments beside the models, and configs that lead there. One without an
    ensemble stays: of a lone model and another folder, SageMaker's container serves the last (docs/endpoint.md)."""
    texts = {info.name: content for info, content in members if isinstance(content, bytes)}
    paths = {f"{model}/{CONFIG}" for model in names.models} & texts.keys()
    configs = {path: parse_config(texts[path].decode(), path) for path in sorted(paths)}
    if not any(config.platform == "ensemble" for config in configs.values()):
        return list(members)
    folders = {info.name for info, _ in members if info.isdir()}
    taken = {info.name.partition("/")[0] for info, _ in members}
    moved: dict[str, str] = {}
    changed: dict[str, bytes] = {}
    for path, config in configs.items():
        folder = _environment(config, posixpath.dirname(path))
        model, _, inner = folder.partition("/")
        if folder in folders and model in names.models and inner:
            if folder not in moved:
                names_in_turn = (_FOLDER if number == 1 else f"{_FOLDER}_{number}" for number in count(1))
                moved[folder] = next(name for name in names_in_turn if name not in taken)
                taken.add(moved[folder])
            config.parameters[ENVIRONMENT].string_value = f"{_HERE}../{moved[folder]}"
            changed[path] = format_config(config).encode()
    return [(_placed(info, moved), changed.get(info.name, content)) for info, content in members]


def _environment(config: ModelConfig, model: str) -> str:
    """The path of the environment's folder in the archive; "" where the config names none."""
    value = config.parameters[ENVIRONMENT].string_value if ENVIRONMENT in config.parameters else ""
    return posixpath.normpath(f"{model}/{value.removeprefix(_HERE)}") if value.startswith(_HERE) else ""


def _placed(info: tarfile.TarInfo, moved: Mapping[str, str]) -> tarfile.TarInfo:
    for before, after in moved.items():
        if info.name == before or info.name.startswith(f"{before}/"):
            info = copy(info)
            info.name = after + info.name.removeprefix(before)
    return info
