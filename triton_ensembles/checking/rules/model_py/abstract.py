"""The model's own class when it is abstract: Triton cannot make an object of it."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.examples import script_model
from triton_ensembles.checking.python.examples import EXECUTE
from triton_ensembles.checking.python.flow import CLASS, flow_of
from triton_ensembles.checking.python.nodes import Function
from triton_ensembles.checking.python.source import PythonFile, model_files
from triton_ensembles.checking.rule import Finding, Model, rule

SOURCE = "python_backend r24.10 src/pb_stub.cc: the class is called without arguments; Python's abc"
_STEP = (
    "from abc import ABC, abstractmethod\n\n\nclass Step(ABC):\n    @abstractmethod\n    def scale(self, x): ...\n\n\n"
)
_SCALE = "\n    def scale(self, x):\n        return x\n"
_ABSTRACT = frozenset({"abc.abstractmethod", "abc.abstractproperty"})


@rule(
    f"{CLASS} has all methods that are abstract in its base classes",
    bad=script_model(f"{_STEP}class {CLASS}(Step):\n{EXECUTE}"),
    good=script_model(f"{_STEP}class {CLASS}(Step):\n{EXECUTE}{_SCALE}"),
    words=f"Can't instantiate abstract class {CLASS}",
)
def model_py_abstract(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        lineage = flow_of(file).lineage
        if not flow_of(file).has_plain_bases or any(node.decorator_list for node in lineage):
            continue
        if not any(_is_abc(file, node) for node in lineage):
            continue
        for name, method in _abstract(file, lineage).items():
            message = f"the method {name} is abstract, and {CLASS} does not have it"
            effect = f"TypeError: Can't instantiate abstract class {CLASS}, and Triton does not load the model"
            yield Finding(file.place(method), message, effect, f"define {name} in {CLASS}")


def _is_abc(file: PythonFile, node: ast.ClassDef) -> bool:
    """Whether its metaclass is that of abstract classes; abstractmethod alone does nothing."""
    bases = {file.full_name(base) for base in node.bases}
    return "abc.ABC" in bases or any(file.full_name(keyword.value) == "abc.ABCMeta" for keyword in node.keywords)


def _abstract(file: PythonFile, lineage: tuple[ast.ClassDef, ...]) -> dict[str, ast.FunctionDef]:
    """The abstract methods in the nearest class that has them; the last definition in a class counts."""
    nearest: dict[str, ast.stmt] = {}
    for model_class in lineage:
        own = {name: statement for statement in model_class.body for name in _bound(statement)}
        nearest = own | nearest
    return {
        name: method
        for name, method in nearest.items()
        if isinstance(method, ast.FunctionDef)
        and any(file.full_name(decorator) in _ABSTRACT for decorator in method.decorator_list)
    }


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement of a class's body may define."""
    if isinstance(statement, Function | ast.ClassDef):
        return [statement.name]
    nodes = list(ast.walk(statement))
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return names + [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
