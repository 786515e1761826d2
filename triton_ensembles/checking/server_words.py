"""The places that the server's words are about: a line of Python code, a field or a tensor of config.pbtxt."""

import os
import re
from collections.abc import Iterator

from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.probe import Probe
from triton_ensembles.checking.repository import Model
from triton_ensembles.triton.log import one_line
from triton_ensembles.triton.model_config import CONFIG

# The frames of a traceback: as pybind11 writes them, the innermost first, and as Python does, the innermost last.
_PYBIND = re.compile(r"^\s*(?P<file>/[^\n]*)\((?P<line>\d+)\): [\w<>]+\s*$", re.MULTILINE)
_PYTHON = re.compile(r'File "(?P<file>/[^"\n]+)", line (?P<line>\d+)')
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):.*\n(?=\S)", re.DOTALL)
_FIELDS = {"data_type": ("data_type", "data type", "datatype", "data-type"), "dims": ("dims", "shape", "dimension")}


def said(words: str, probe: Probe) -> str:
    """The ``words`` on one line, without tracebacks and without the folders that the server read."""
    text = _TRACEBACK.sub("", words.replace("\\n", "\n"))
    for name, probed in probe.models.items():
        for folder in (str(probed.folder), str(probed.folder.parent / name)):
            text = text.replace(folder, probed.model.folder)
    return one_line(text)


def code_place(words: str, probe: Probe) -> Place | None:
    """The innermost line of the models' own code in the traceback that ``words`` have, if they have one."""
    for file, line in _frames(words):
        for probed in probe.models.values():
            path = os.path.realpath(file)
            if path.startswith(f"{probed.folder}{os.sep}") and "/site-packages/" not in path:
                return Place(probed.model.place(os.path.relpath(path, probed.folder)).path, line)
    return None


def place_in(words: str, model: Model) -> Place:
    """The field of its config that ``words`` are about, or else the model's code or its config as a whole."""
    config = model.file.config
    fields = [field for field, forms in _FIELDS.items() if any(form in words for form in forms)]
    for kind in ("input", "output"):
        for index, tensor in enumerate(getattr(config, kind)):
            if tensor.name and re.search(rf"(?<![\w.-]){re.escape(tensor.name)}(?![\w.-])", words):
                return model.at(kind, index, *(fields or ["name"])[:1])
    if model.is_python and (versions := sorted(model.versions)):
        return model.place(f"{model.versions[versions[-1]]}/{model.backend.file}")
    named = (name for name in config.DESCRIPTOR.fields_by_name if "_" in name and name in words.replace(" ", "_"))
    field = next(named, "")
    return model.at(field) if field else model.place(CONFIG if model.has_config else "")


def _frames(words: str) -> Iterator[tuple[str, int]]:
    text = words.replace("\\n", "\n")
    frames = [*_PYBIND.finditer(text), *reversed(list(_PYTHON.finditer(text)))]
    return ((match["file"], int(match["line"])) for match in frames)
