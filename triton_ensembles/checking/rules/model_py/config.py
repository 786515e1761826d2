"""The keys that model.py takes from the arguments of initialize."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import initializing
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import is_changed, positional
from triton_ensembles.checking.python.source import PythonFile, model_files
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.ground.spelling import listed, nearest

# All of them are texts.
_ARGUMENTS = frozenset(
    {"model_config", "model_instance_kind", "model_instance_name", "model_instance_device_id", "model_repository"}
    | {"model_version", "model_name"}
)
_USUAL = {**{name.removeprefix("model_"): name for name in _ARGUMENTS}, "device_id": "model_instance_device_id"}


@rule(
    "initialize takes from its arguments only what is there",
    source="python_backend r24.10 src/python_be.cc; measured on 2.51.0",
    bad=initializing('self.version = args["version"]'),
    good=initializing('self.version = args["model_version"]'),
    words="KeyError: 'version'",
)
def model_py_unknown_key(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        for node, key in _reads(file):
            when = flow_of(file).when(node, loops_run=True)
            if key not in _ARGUMENTS and when.is_certain:
                usual = _USUAL.get(key) or nearest(key, _ARGUMENTS)
                cure = f"did you mean '{usual}'?" if usual else f"it has {listed(_ARGUMENTS)}"
                message = f"the arguments of initialize have no '{key}'"
                yield Finding(file.place(node), message, f"{when.effect}: KeyError: '{key}'", cure)


def _reads(file: PythonFile) -> Iterator[tuple[ast.Subscript, str]]:
    """Yield the elements of ``args`` that initialize takes, if it does nothing else with it, each with its key."""
    flow = flow_of(file)
    initialize = flow.method("initialize")
    names = positional(initialize) if initialize else []
    uses = flow.names(initialize, names[1]) if len(names) == 2 else []
    elements = [parent for use in uses if (parent := flow.parents.get(use))]
    changing = (isinstance(node, ast.Attribute) and node.attr not in ("get", "items", "keys") for node in elements)
    if any(changing) or any(map(is_changed, [*uses, *elements])):
        return
    for element in elements:
        key = element.slice if isinstance(element, ast.Subscript) and element.value in uses else None
        if isinstance(element, ast.Subscript) and isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield element, key.value
