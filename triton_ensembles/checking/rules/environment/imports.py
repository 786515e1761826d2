"""Return whether the environment of a step has what its model.py imports. Nothing is run."""

from collections.abc import Iterator

from triton_ensembles.checking.environments import Environment, environment_of, reference
from triton_ensembles.checking.examples import with_environment
from triton_ensembles.checking.imported_packages import PROVIDERS, effect_without, imported, standard_library
from triton_ensembles.checking.packages import Packages, packages_of
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, rule
from triton_ensembles.checking.step_python import step_python
from triton_ensembles.ground.spelling import nearest

SOURCE = "python_backend r24.10 pb_stub.cc: sys.path is the environment's, then the version folder and the model's"
GOOD = with_environment(imports="import json\n")


@rule(
    "A packed environment has what model.py imports",
    bad=with_environment(imports="import not_installed\n"),
    words="No module named 'not_installed'",
    lower=Severity.WARNING,
)
def environment_import_missing(model: Model, destination: Destination) -> Iterator[Finding]:
    """A warning about what a function imports, or may find in a folder that model.py adds to sys.path."""
    packed = environment_of(model)
    beside = None if reference(model) else next(iter(packages_of(model)), None)
    if beside is None and (packed is None or packed.tree.problems or not packed.has_library):
        return
    where = beside or packed
    assert where is not None
    python = step_python(model, destination)
    for file, missing in imported(model):
        if not any(_has(where, name, python) for name in missing.alternatives):
            provider = PROVIDERS.get(missing.package, missing.package)
            meant = nearest(missing.package, where.modules)
            message = f"the environment '{where.path}' has no package '{missing.package}'"
            cure = f"add {provider} to it and pack it again"
            if beside:
                message = f"neither the wheels in '{where.path}' nor Triton's Python have a package '{missing.package}'"
                cure = f"add {provider} to the environment file or the requirements.txt that they are from"
            if meant:
                cure = f"did you mean '{meant}'? Otherwise {cure}"
            severity = Severity.WARNING if missing.later or missing.elsewhere else None
            yield Finding(file.place(missing.node), message, effect_without(missing), cure, severity)


def _has(packed: Environment, package: str, python: str) -> bool:
    # Modules beside model.py are the model's own for is_local; those of Python may be compiled into it.
    own = package == "numpy" if isinstance(packed, Packages) else package in packed.modules
    return own or package in standard_library(python)
