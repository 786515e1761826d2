"""A model.py that raises an exception whenever its model is loaded."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.fault import Finding
from triton_ensembles.check.python.examples import initializing
from triton_ensembles.check.python.flow import When, flow_of
from triton_ensembles.check.python.source import PythonFile, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule

SOURCE = "python_backend r24.10 src/pb_stub.cc StubSetup, Initialize; measured on 2.51.0"


@rule(
    "model.py raises no exception whatever it is loaded with",
    bad=initializing('raise NotImplementedError("load the weights here")'),
    good=initializing('if "model_config" not in args:', '    raise ValueError("no config")'),
    words="NotImplementedError: load the weights here",
)
def model_py_raises(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        for node in file.nodes:
            error = _raised(file, node)
            if error and flow_of(file).when(node) is When.LOAD and not _returns_before(file, node):
                yield Finding(
                    file.place(node),
                    f"this line raises {error} whenever the model is loaded",
                    f"{When.LOAD.effect}: {error}",
                    "remove the line, or put it under the condition that it reports",
                )


def _raised(file: PythonFile, node: ast.AST) -> str:
    """The name of the exception, "" when the node raises none for sure or ends the process (model-py-exit)."""
    if isinstance(node, ast.Assert):
        is_false = isinstance(node.test, ast.Constant) and not node.test.value
        return "AssertionError" if is_false else ""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return ""
    name = file.full_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) or "an exception"
    return "" if name == "SystemExit" else name


def _returns_before(file: PythonFile, node: ast.AST) -> bool:
    """Whether the function may have returned before this line, or is a generator, whose body does not run."""
    function = flow_of(file).function(node)
    if function is None:
        return False
    line = getattr(node, "lineno", 0)
    return any(
        isinstance(inner, ast.Yield | ast.YieldFrom) or (isinstance(inner, ast.Return) and inner.lineno < line)
        for inner in ast.walk(function)
    )
