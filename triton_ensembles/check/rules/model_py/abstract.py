"""The model's own class when it is abstract: Triton cannot make an object of it."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.python.flow import CLASS, flow_of
from triton_ensembles.check.python.source import PythonFile, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.methods import has_plain_bases
from triton_ensembles.check.rules.model_py.model_class import EXECUTE

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
        if not lineage or not has_plain_bases(file) or any(each.decorator_list for each in lineage):
            continue
        if not any(_is_abc(file, each) for each in lineage):
            continue
        for name, method in _abstract(file, lineage).items():
            yield Finding(
                file.place(method),
                f"the method {name} is abstract, and {CLASS} does not have it",
                f"TypeError: Can't instantiate abstract class {CLASS}, and Triton does not load the model",
                f"define {name} in {CLASS}",
            )


def _is_abc(file: PythonFile, node: ast.ClassDef) -> bool:
    """Whether its metaclass is that of abstract classes; abstractmethod alone does nothing."""
    bases = {file.full_name(base) for base in node.bases}
    return "abc.ABC" in bases or any(file.full_name(each.value) == "abc.ABCMeta" for each in node.keywords)


def _abstract(file: PythonFile, lineage: tuple[ast.ClassDef, ...]) -> dict[str, ast.FunctionDef]:
    """What is abstract in the nearest class that has it; the last definition in a class counts."""
    nearest: dict[str, ast.stmt] = {}
    for each in lineage:
        own: dict[str, ast.stmt] = {}
        for node in each.body:
            own |= dict.fromkeys(_bound(node), node)
        nearest = own | nearest
    return {
        name: node
        for name, node in nearest.items()
        if isinstance(node, ast.FunctionDef) and any(file.full_name(one) in _ABSTRACT for one in node.decorator_list)
    }


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement of a class's body may define."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    defined = (each for each in ast.walk(node) if isinstance(each, ast.FunctionDef))
    return [*(each.id for each in stored), *(each.name for each in defined)]
