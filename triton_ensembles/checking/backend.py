"""The backend and the file of the version folder that Triton will use for a model, and what the backend completes.

After core r24.10 model_config_utils.cc AutoCompleteBackendFields, which runs whether auto-completion is on or off.
Backends complete configs by default, but not those of ensembles/ (Form.SOURCE): such a value is as unknown as one that
cannot be read, because what the model's file says is not read here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from triton_ensembles.archive.tree import Tree, join
from triton_ensembles.checking.source_budget import PythonBudget
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.triton.backends import KNOWN
from triton_ensembles.triton.model_config import DataType, ModelConfig
from triton_ensembles.triton.model_formats import GRAPHDEF, PLATFORMS, SAVED_MODEL, TENSORFLOW, file_of, platforms_of

# Backends of r24.10 that complete nothing: pytorch_backend libtorch.cc AutoCompleteConfig ("skipping model
# configuration auto-complete"), tensorflow.cc for a graphdef, and identity, repeat and square, which have no such code.
_NEVER = ("pytorch", "identity", "repeat", "square")
_METHOD, _SIZE = "auto_complete_config", "set_max_batch_size"


@dataclass(frozen=True)
class Backend:
    """The backend of a model."""

    name: str
    platform: str
    file: str  # what each version folder must have; "" when that is not known (custom backends)


def choose_backend(config: ModelConfig, tree: Tree, root: str, folder: str, is_ensemble: Callable[[], bool]) -> Backend:
    """The backend, platform and file that Triton chooses for the model ``folder`` at ``root`` of a repository's tree;
    ``name`` is "" when it cannot."""
    name, platform, file = config.backend, config.platform, config.default_model_filename
    content = _first_version(tree, root)
    open_choice = not platform and not file
    if not platform and name in ("", "tensorflow"):
        for candidate, form in TENSORFLOW.items():
            is_there = form.file in content and content[form.file] == (form is SAVED_MODEL)
            if file == form.file or (not file and is_there):
                platform = candidate
    if platform in TENSORFLOW:
        return Backend(name or "tensorflow", platform, file or TENSORFLOW[platform].file)
    if not name:
        name = next((candidate for candidate in KNOWN if _fits(candidate, platform, file, open_choice, content)), "")
    if name in KNOWN and name != "tensorflow":
        script = name == "pytorch" and config.runtime == "model.py"
        return Backend(name, platform or "".join(platforms_of(name)), file or ("" if script else file_of(name)))
    if not name and open_choice and not is_ensemble():
        name = folder.partition(".")[2]  # model.identity: the narrow case of a custom backend
        file = f"model.{name}" if name else ""
    if name == "dali":
        file = file or file_of(name)
    return Backend(name, platform, file)


def _fits(candidate: str, platform: str, file: str, open_choice: bool, content: dict[str, bool]) -> bool:
    known = file_of(candidate)
    if not known:
        return False
    may_be_folder = candidate in ("onnxruntime", "openvino", "python")  # as core has it
    fits = open_choice and known in content and (may_be_folder or not content[known])
    return PLATFORMS.get(platform) == candidate or file == known or fits


def _first_version(tree: Tree, root: str) -> dict[str, bool]:
    """The content of the model's first folder, by name, and whether each is a folder: Triton looks only at that one."""
    folders = tree.folders(root)
    first = join(root, folders[0]) if folders else ""
    return {name: tree.is_folder(join(first, name)) for name in tree.children(first)} if folders else {}


def completes(config: ModelConfig, backend: Backend, tree: Tree, root: str) -> bool:
    """Return whether the backend of the model at ``root``, which is no ensemble, may add inputs, outputs and
    max_batch_size; unknown backends may."""
    if backend.platform == GRAPHDEF.platform:
        return False
    if backend.name == "python" or config.runtime == "model.py":
        return _names(_METHOD, tree, root)
    # onnxruntime.cc AutoCompleteConfig: "inputs and outputs already specified"
    has_tensors = (len(config.input) or len(config.batch_input)) and len(config.output)
    return backend.name not in _NEVER and not (backend.name == "onnxruntime" and has_tensors)


def left_out(config: ModelConfig, backend: Backend, tree: Tree, root: str) -> Iterator[Path]:
    """The paths of the config that are not given and that Triton may complete, of a model whose backend it calls for
    them; also a max_batch_size of 0, which Triton may set to its default of 4, or one that its model.py may raise."""
    if config.max_batch_size == 0 or (backend.name == "python" and _names(_SIZE, tree, root)):
        yield ("max_batch_size",)
    partly = backend.name != "onnxruntime"  # which completes whole lists only
    for kind in ("input", "output"):
        tensors = getattr(config, kind)
        if not tensors:
            yield (kind,)
        for index, tensor in enumerate(tensors if partly else ()):
            if not tensor.dims:
                yield (kind, index, "dims")
            if tensor.data_type == DataType.TYPE_INVALID:
                yield (kind, index, "data_type")


def _names(method: str, tree: Tree, root: str) -> bool:
    """Return whether a model.py may have or call ``method``: itself, or a module beside it."""
    for folder in (root, *(join(root, name) for name in tree.folders(root))):
        for name in tree.children(folder):
            entry = tree.get(join(folder, name)) if name.endswith(".py") else None
            if entry is not None and (entry.data is None or _is_in(entry.data, method)):
                return True
    return False


def _is_in(code: bytes, name: str) -> bool:
    """Return whether code that can be read has this name, apart from comments and longer texts; other code may."""
    if name.encode() not in code:
        return False
    try:
        nodes = ast.walk(ast.parse(code)) if PythonBudget().may_parse(code) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = None
    keys = ("name", "attr", "id", "asname", "value")
    return nodes is None or any(name == getattr(node, key, None) for node in nodes for key in keys)
