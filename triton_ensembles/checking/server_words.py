"""The subject of the server's words, a line of code or a field, a step or a tensor of config.pbtxt, and the cure."""

import ast
import os
import re
from collections.abc import Iterator

from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.probe import Probe
from triton_ensembles.checking.python.definitions import model_class_of
from triton_ensembles.checking.python.nodes import name_of
from triton_ensembles.checking.python.source import PythonFile, model_files
from triton_ensembles.checking.repository import Model
from triton_ensembles.triton.log import one_line
from triton_ensembles.triton.model_config import CONFIG

# The frames of a traceback: as pybind11 writes them, the innermost first, and as Python does, the innermost last.
_PYBIND = re.compile(r"^\s*(?P<file>/[^\n]*)\((?P<line>\d+)\): [\w<>]+\s*$", re.MULTILINE)
_PYTHON = re.compile(r'File "(?P<file>/[^"\n]+)", line (?P<line>\d+)')
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):.*?\n(?=\S)", re.DOTALL)
_HEAD = re.compile(r"^load failed for model '[^']*': version \d+ is at UNAVAILABLE state: ")
_SHORTEST = 6  # letters of a text in code that is looked for
_ONE_EACH = "end execute with return responses, a list with one InferenceResponse for each request"
# Words of Triton and of Python about a model.py, and what people most often have to do about them.
_CURES = (
    ("do not match the number of InferenceRequest|the execute return|execute function return list", _ONE_EACH),
    ("no answer within", f"{_ONE_EACH}; a response sender ends a request with TRITONSERVER_RESPONSE_COMPLETE_FINAL; "
     "for a model that is only slow, give a longer --timeout"),
    ("load did not end within", "run in a thread what never ends; for a load that is only slow, a longer --timeout"),
    ("NumPy dtype is not supported", "make it an array of a dtype that Triton has; for texts, astype(object)"),
    ("incompatible constructor arguments.*InferenceResponse", "give it a list of pb_utils.Tensor, and as error "
     "pb_utils.TritonError(text)"),
    ("incompatible constructor arguments.*Tensor", "write pb_utils.Tensor(name, array), with an array of numpy"),
    ("'NoneType' object has no attribute 'as_numpy'", "read tensors by names that the config has, and look for None "
     "where one is optional"),
    ("FileNotFoundError", "add the file, or correct its path: Path(__file__).parent is the folder of model.py"),
    ("ModuleNotFoundError", "write the package into a requirements.txt or an environment, or correct the name"),
    ("does not implement `execute`", "write def execute(self, requests):"),
    ("SystemExit|BdbQuit|EOFError", "remove what ends the process or waits for a keyboard; raise "
     "pb_utils.TritonModelException(text) for what is wrong"),
    ("abstract class", "define what is abstract in the class TritonPythonModel"),
    ("numpy' has no attribute", "write the name that it has now, or give the step an environment with another numpy"),
    ("Internal: KeyError", "correct the key, or add it, to the parameters of config.pbtxt if it is one of them"),
)  # fmt: skip
_FIELDS = {"data_type": ("data_type", "data type", "datatype", "data-type"), "dims": ("dims", "shape", "dimension")}


def said(words: str, probe: Probe) -> str:
    """Return the ``words`` on one line, without tracebacks and without the folders that the server read."""
    text = _TRACEBACK.sub("", words.replace("\\n", "\n"))
    for name, probed in probe.models.items():
        for folder in (str(probed.folder), str(probed.folder.parent / name)):
            text = text.replace(folder, probed.model.folder)
    frames = [] if code_place(words, probe) else list(_frames(words))[:1]  # the place of the fault is not there
    where = "".join(f", at {'/'.join(file.split('/')[-3:])}:{line}" for file, line in frames)
    return one_line(_HEAD.sub("", text).rstrip("; \n")) + where


def cure_of(words: str) -> str:
    """Return what to do about the ``words``, "" where that is as they say."""
    return next((cure for pattern, cure in _CURES if re.search(pattern, words, re.DOTALL)), "")


def code_place(words: str, probe: Probe) -> Place | None:
    """Return the innermost line of the models' own code in the traceback that ``words`` have, if they have one."""
    for file, line in _frames(words):
        for probed in probe.models.values():
            path = os.path.realpath(file)
            if path.startswith(f"{probed.folder}{os.sep}") and "/site-packages/" not in path:
                return Place(probed.model.place(os.path.relpath(path, probed.folder)).path, line)
    return None


def place_in(words: str, model: Model, method: str = "") -> Place:
    """Return the field of its config that ``words`` are about, or else the model's ``method``, code or config."""
    if "warmup" in words.replace("_", "") and len(model.file.config.model_warmup):
        return model.at("model_warmup")
    if model.is_python and (versions := sorted(model.versions)):
        path = f"{model.versions[versions[-1]]}/{model.backend.file}"
        return Place(model.place(path).path, _line_that_says(words, model, path) or _line_of(method, model, path))
    config = model.file.config
    for index, step in enumerate(config.ensemble_scheduling.step):
        if f"'{step.model_name}'" in words:
            return model.at("ensemble_scheduling", "step", index, "model_name")
    fields = [field for field, forms in _FIELDS.items() if any(form in words for form in forms)]
    for kind in ("input", "output"):
        for index, tensor in enumerate(getattr(config, kind)):
            if tensor.name and re.search(rf"(?<![\w.-]){re.escape(tensor.name)}(?![\w.-])", words):
                return model.at(kind, index, *(fields or ["name"])[:1])
    named = (name for name in config.DESCRIPTOR.fields_by_name if "_" in name and name in words.replace(" ", "_"))
    field = next(named, "")
    return model.at(field) if field else model.place(CONFIG if model.has_config else "")


def _line_that_says(words: str, model: Model, path: str) -> int:
    """Return the line of code that makes an error of these words; 0 if none does."""
    file = _file(model, path)
    calls = [call for call, _ in file.calls if name_of(call.func).endswith(("Error", "Exception"))] if file else []
    for call in sorted(calls, key=lambda call: call.lineno):
        texts = (
            node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        if any(len(text.strip()) >= _SHORTEST and text.strip() in words for text in texts):
            return call.lineno
    return 0


def _line_of(method: str, model: Model, path: str) -> int:
    """Return the line where the model's class defines a method; 0 if it does not."""
    file = _file(model, path)
    found = model_class_of(file).method(method) if file else None
    return found.node.lineno if found else 0


def _file(model: Model, path: str) -> PythonFile | None:
    return next((file for file in model_files(model) if file.path == path), None)


def _frames(words: str) -> Iterator[tuple[str, int]]:
    text = words.replace("\\n", "\n")
    frames = [*reversed(list(_PYTHON.finditer(text))), *_PYBIND.finditer(text)]  # the model's own words come first
    return ((match["file"], int(match["line"])) for match in frames)
