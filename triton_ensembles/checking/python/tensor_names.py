"""The names of tensors in model.py, compared with those of the config: which others it may have, and who reads them."""

import ast
from contextlib import suppress
from functools import lru_cache

from triton_ensembles.checking.python.nodes import is_changed, method_of
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError


def output_names(model: Model) -> set[str]:
    """Return the names of the outputs that model.py may make, those of the sequence batcher's states among them."""
    states = model.config.sequence_batching.state
    return {output.name for output in model.config.output} | {state.output_name for state in states}


@lru_cache(maxsize=128)
def completed_names(file: PythonFile) -> frozenset[str]:
    """Return the names that ``auto_complete_config`` may add to the config: all texts of a file that adds some."""
    adds = any(method_of(call) in ("add_input", "add_output") for call, _ in file.calls)
    if "auto_complete_config" not in file.scopes.members or not adds:
        return frozenset()
    texts = (node.value for node in file.nodes if isinstance(node, ast.Constant))
    return frozenset(text for text in texts if isinstance(text, str))


def needs_result(file: PythonFile, call: ast.Call, has_unread: bool) -> bool:
    """Return whether None, which an unknown name gives, is certainly not expected.

    It is used at once, or only so; or it is never compared, and there is an input that nothing reads (``has_unread``).
    """
    scopes = file.scopes
    parent = scopes.parents.get(call)
    if isinstance(parent, ast.Attribute | ast.Subscript):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Call) and has_unread
    names = scopes.names(scopes.function(call), parent.targets[0].id)
    uses = [scopes.parents.get(name) for name in names if not is_changed(name)]
    expected = ast.Attribute | ast.Subscript | ast.Call if has_unread else ast.Attribute | ast.Subscript
    return bool(uses) and all(isinstance(use, expected) for use in uses)


def needed_outputs(model: Model) -> set[str]:
    """Return the outputs that another step of an ensemble of the repository reads."""
    outputs = model.repository.once("outputs that steps read", lambda: _read_outputs(model.repository))
    return outputs.get(model.name, set()) & {output.name for output in model.config.output}


def _read_outputs(repository: Repository) -> dict[str, set[str]]:
    """Return the outputs of each model, by its name, that a step of an ensemble reads."""
    outputs: dict[str, set[str]] = {}
    for model in repository.models:
        with suppress(UnknownValueError):
            steps = model.config.ensemble_scheduling.step if model.is_ensemble else ()
            read = {tensor for member in steps for tensor in member.input_map.values()}
            for member in steps:
                names = (output for output, tensor in member.output_map.items() if tensor in read)
                outputs.setdefault(member.model_name, set()).update(names)
    return outputs
