"""A model.py that raises an exception at every load, ends its process, waits for a keyboard, or never returns."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import class_model, initializing
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import Function, method_of
from triton_ensembles.checking.python.source import PythonFile, every_call, every_file, model_files
from triton_ensembles.checking.rule import Finding, Model, Server, rule

SOURCE = "python_backend r24.10 src/stub_launcher.cc; measured on 2.51.0"
GOOD = class_model()
_ENDING = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
_KEYBOARD = {
    "input": "EOFError: EOF when reading a line",
    **dict.fromkeys(("breakpoint", "pdb.set_trace", "ipdb.set_trace"), "BdbQuit"),
}
_SERVING = frozenset({"serve_forever", "run_forever"})


@rule(
    "model.py raises no exception whatever it is loaded with",
    source="python_backend r24.10 src/pb_stub.cc StubSetup, Initialize; measured on 2.51.0",
    bad=initializing('raise NotImplementedError("load the weights here")'),
    good=initializing('if "model_config" not in args:', '    raise ValueError("no config")'),
    words="NotImplementedError: load the weights here",
)
def model_py_raises(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        for node in file.nodes:
            error = _raised(file, node)
            if error and flow_of(file).when(node) is When.LOAD:
                message = f"this line raises {error} whenever the model is loaded"
                cure = "remove the line, or put it under the condition that it reports"
                yield Finding(file.place(node), message, f"{When.LOAD.effect}: {error}", cure)


def _raised(file: PythonFile, node: ast.AST) -> str:
    """The name of the exception, "" when the node raises none for sure or ends the process (model-py-exit)."""
    if isinstance(node, ast.Assert):
        is_false = isinstance(node.test, ast.Constant) and not node.test.value
        return "AssertionError" if is_false else ""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return ""
    name = file.full_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) or "an exception"
    return "" if name == "SystemExit" else name


@rule("model.py does not end its own process", bad=initializing("import sys", "", "sys.exit(0)"), words="SystemExit: 0")
def model_py_exit(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for node in file.nodes:
            name = _ending(file, node)
            if not name or not (when := flow_of(file).when(node)).is_certain:
                continue
            complaint = "Stub process is not healthy" if name in ("os._exit", "os.abort") else "SystemExit"
            error = "pb_utils.TritonModelException" if when is When.REQUEST else "an error"
            message = f"{name} ends the process of the model"
            cure = f'put it under if __name__ == "__main__":, or raise {error} that says what is wrong'
            yield Finding(file.place(node), message, f"{when.effect}: {complaint}", cure)


def _ending(file: PythonFile, node: ast.AST) -> str:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return "SystemExit" if raised is not None and file.full_name(raised) == "SystemExit" else ""
    if not isinstance(node, ast.Call):
        return ""
    name = file.full_name(node.func)
    is_python = "." in name or flow_of(file).is_builtin(node.func)
    return name if name in _ENDING and is_python else ""


@rule("model.py waits for nobody at a keyboard", bad=initializing("breakpoint()"), words="BdbQuit")
def model_py_keyboard(model: Model) -> Iterator[Finding]:
    for file, call, name in every_call(model):
        if name not in _KEYBOARD or not ("." in name or flow_of(file).is_builtin(call.func)):
            continue
        if (when := flow_of(file).when(call, loops_run=True)).is_certain:
            message = f"{name} needs a terminal, and the process of a model has none"
            cure = "remove it; write to the log with pb_utils.Logger.log_info(…)"
            yield Finding(file.place(call), message, f"{when.effect}: {_KEYBOARD[name]}", cure)


@rule("model.py returns from what it does at load", bad=initializing("while True:", "    pass"), server=Server.DIES)
def model_py_endless(model: Model) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    for file in every_file(model):
        for node in file.nodes:
            statement = _endless(file, node)
            if not statement:
                continue
            when = flow_of(file).when(node)
            effect = "the load never ends, and the server does not become ready"
            if when is When.REQUEST and not decoupled:
                effect = "the model loads, and no request is ever answered: clients wait until their time is over"
            elif when is not When.LOAD:
                continue
            cure = "run it in a thread: threading.Thread(target=…, daemon=True).start()"
            yield Finding(file.place(node), f"{statement} never ends", effect, cure)


def _endless(file: PythonFile, node: ast.AST) -> str:
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
        return "" if _leaves(node.body) else "this loop"
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        is_count = file.full_name(node.iter.func) == "itertools.count"
        return "this loop" if is_count and not _leaves(node.body) else ""
    if isinstance(node, ast.Call) and method_of(node) in _SERVING:
        return f"{method_of(node)}()"
    return "uvicorn.run()" if isinstance(node, ast.Call) and file.full_name(node.func) == "uvicorn.run" else ""


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether anything in a loop may end it on purpose."""
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while waiting:
        node, in_loop = waiting.pop()
        if isinstance(node, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if isinstance(node, ast.Break) and not in_loop:
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            in_loop = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
            waiting += [(child, in_loop) for child in ast.iter_child_nodes(node)]
    return False
