"""Names that model.py takes from the standard library: whether the Python that runs the step has them."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.name_table import STANDARD, Version, taken_names
from triton_ensembles.checking.python.source import adds_folders, all_files, has_own, model_files
from triton_ensembles.checking.rule import Destination, Finding, Model, rule
from triton_ensembles.checking.step_python import step_python
from triton_ensembles.ground.spelling import suggestion
from triton_ensembles.triton.releases import dotted

SOURCE = "CPython 3.8 to 3.13, asked for their names: standard_names.txt"
_KIND = f"    KIND = Mapping\n\n{EXECUTE}"
GOOD = class_model(_KIND, "from collections.abc import Mapping\n\n\n")
_OF_THE_PLATFORM = frozenset({"os", "time"})  # whose constants depend on the system


@rule(
    "Python's standard library has the names that model.py takes from it",
    bad=class_model(_KIND, "from collections import Mapping\n\n\n"),
    words="cannot import name 'Mapping' from 'collections'",
)
def model_py_standard_name(model: Model, destination: Destination) -> Iterator[Finding]:
    python = step_python(model, destination)
    version = STANDARD.version(python)
    if not version:
        return
    for first in model_files(model):
        for file in all_files(model, first):
            for node, module, name in taken_names(file, STANDARD.modules):
                # Python's own module comes before the step's, unless model.py changes that.
                is_own = adds_folders(model, first) or not any(STANDARD.names(module, version))
                is_own = is_own and has_own(model, first, module.partition(".")[0])
                if is_own or STANDARD.has(module, name, version) or is_expected(file, node):
                    continue
                when = flow_of(file).when(node, loops_run=True)
                if when.is_certain and not (module in _OF_THE_PLATFORM and name.isupper()):
                    error = f"AttributeError: module '{module}' has no attribute '{name}'"
                    if isinstance(node, ast.ImportFrom):
                        error = f"ImportError: cannot import name '{name}' from '{module}'"
                    message = _message(module, name, python, version)
                    yield Finding(file.place(node), message, f"{when.effect}: {error}", _cure(module, name, version))


def _message(module: str, name: str, python: str, version: Version) -> str:
    spans = STANDARD.spans(module, name)
    if not spans:
        return f"no Python from {dotted(STANDARD.oldest)} to {dotted(STANDARD.newest)} has '{module}.{name}'"
    later = [first for first, _ in spans if first > version]
    since = f"it came with {dotted(min(later))}" if later else f"{dotted(spans[-1][1])} was the last"
    return f"Python {python}, which runs the step, does not have '{module}.{name}': {since}"


def _cure(module: str, name: str, version: Version) -> str:
    package = module.partition(".")[0]
    siblings = [known for known in sorted(STANDARD.modules) if known.startswith(f"{package}.") and known != module]
    if home := next((sibling for sibling in siblings if STANDARD.has(sibling, name, version)), ""):
        return f"take it from {home}"
    if not STANDARD.spans(module, name):
        names = (known for known in STANDARD.names(module, version) if known.isupper() == name.isupper())
        return suggestion(name, names) or "correct the name, or import what has it"
    if module == "typing" and not STANDARD.has(module, name, STANDARD.oldest):
        return "take it from typing_extensions, in an environment of the step"
    return "write it with what both have, or give the step an environment with another Python"
