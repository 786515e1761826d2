"""An :class:`Example` of a rule written to disk as a model repository."""

import re
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.checking.examples import STEPS, script_for
from triton_ensembles.checking.rule import Example
from triton_ensembles.triton.model_config import CONFIG

_MODEL_NAME = re.compile(r'model_name:\s*"([\w-]+)"')


def stage(example: Example, repository: Path, folder: str) -> str:
    """Write ``example`` as the model ``folder`` (or the folder that it requires) with the steps it uses. Returns the
    name of the model's folder. Existing files stay, so many examples can share a repository."""
    name = example.folder or folder
    files = default_files(example) if example.files is None else example.files
    _write(repository / name, files if example.config is None else {CONFIG: example.config, **files})
    _write(repository, example.beside)
    for step in used_steps(example):
        _write(repository / step, {CONFIG: STEPS[step].config, **(STEPS[step].files or {})})
    return name


def default_files(example: Example) -> dict[str, str | None]:
    if example.config is not None and re.search(r"ensemble_scheduling|platform:\s*\"ensemble\"", example.config):
        return {"1": None}
    return {"1/model.py": script_for(example.config or "")}


def used_steps(example: Example) -> list[str]:
    texts = [example.config or "", *(text or "" for text in example.beside.values())]
    return sorted({name for text in texts for name in _MODEL_NAME.findall(text)} & set(STEPS))


def _write(root: Path, files: Mapping[str, str | None]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        target = root / path
        if text is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogateescape"))  # "\udce9" stands for the byte E9
