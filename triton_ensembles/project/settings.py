"""The defaults of a project: [tool.triton-ensembles] of the pyproject.toml that is nearest to what a command works on.

[tool.triton-ensembles]
image = "24.09"              # a release, a tag or a name; "newest", or "sagemaker" for the newest that SageMaker has
instance = "ml.m5.xlarge"
target = "fused"
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import choices, suggestion
from triton_ensembles.ground.toml_tables import SETTINGS, line_naming, settings_of
from triton_ensembles.triton.releases import check_image, check_instance, image_named
from triton_ensembles.triton.targets import check_target

_SHOWN = "[tool.triton-ensembles]"
_OTHERS = ("project", "check")  # which the search for a project, and check, read


def _image(name: str) -> str:
    check_image(image := image_named(name))
    return image


def _instance(name: str) -> str:
    check_instance(name)
    return name


KEYS: Mapping[str, Callable[[str], str]] = {"image": _image, "instance": _instance, "target": check_target}
"""How the text of each key is read."""


def project_defaults(start: Path) -> dict[str, str]:
    """Return what the nearest table says, in the folder ``start`` or above it: a value for each of :data:`KEYS` that it
    has. Raises :class:`EnsembleError`, with the file and the line: a key or a value does not exist."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if settings := settings_of(folder):
            table, text = settings
            return _read(table, text, folder / SETTINGS)
    return {}


def _read(table: Mapping[str, object], text: str, path: Path) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for key, value in table.items():
        line = line_naming(text, [key])
        if key in _OTHERS:
            continue
        if key not in KEYS:
            known = (*KEYS, *_OTHERS)
            cure = suggestion(key, known) or f"the keys are {choices(known)}"
            raise EnsembleError(f"{_SHOWN} has a key '{key}', which does not exist", path=path, line=line, cure=cure)
        if not isinstance(value, str) or not value:
            raise EnsembleError(f"{_SHOWN} {key} must be a text", path=path, line=line, cure=f'write {key} = "…"')
        try:
            defaults[key] = KEYS[key](value)
        except EnsembleError as error:
            raise EnsembleError(f"{_SHOWN} {key}: {error.message}", path=path, line=line, cure=error.cure) from None
    return defaults
