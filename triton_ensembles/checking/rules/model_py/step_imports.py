"""Imports of a step without an environment, which the bare Python of the server may lack. Nothing is run."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import python_of
from triton_ensembles.checking.environments import has_stub, reference
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.imported_packages import (
    PROVIDERS,
    alternatives,
    effect_without,
    imported,
    standard_library,
)
from triton_ensembles.checking.packages import packages_of
from triton_ensembles.checking.python.imports import Import
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, rule, warning
from triton_ensembles.triton.releases import image_of

SOURCE = "server build.py on the branches r22.07 to r26.05: the images' Python has numpy, pip, setuptools and wheel"
GOOD = Example(python_model(), {"1/model.py": f"import json\nimport numpy\n\n{IDENTITY}"})
# Installed to build the image. setuptools also brings distutils, for Pythons that have it no more.
_TOOLS_OF_IMAGES = frozenset({"_distutils_hack", "distutils", "pip", "pkg_resources", "setuptools", "wheel"})


@rule(
    "Python has what model.py imports, where the step has no environment",
    bad=Example(python_model(), {"1/model.py": f"import not_installed\n\n{IDENTITY}"}),
    words="No module named 'not_installed'",
)
def import_missing(model: Model, destination: Destination) -> Iterator[Finding]:
    for file, module, python in missing_imports(model, destination):
        if not module.later and not module.elsewhere and not _is_tool(module, destination):
            yield _missing(file, module, python)


@warning(
    "Python has what the functions of model.py import, and not only by chance",
    bad=Example(python_model(), {"1/model.py": f"def later():\n    import not_installed\n\n\n{IDENTITY}"}),
)
def import_uncertain(model: Model, destination: Destination) -> Iterator[Finding]:
    for file, module, python in missing_imports(model, destination):
        if _is_tool(module, destination):
            message = (
                f"'{module.package}' is not of Python {python}: it comes with the tools that the image was built with"
            )
            effect = "an image without them, or this project's own server, does not load the model"
            yield _finding(file, module, message, effect)
        elif module.later or module.elsewhere:
            yield _missing(file, module, python)


def _missing(file: PythonFile, module: Import, python: str) -> Finding:
    message = f"Python {python} has no module '{module.package}', and neither has the step"
    return _finding(file, module, message, effect_without(module))


def _finding(file: PythonFile, module: Import, message: str, effect: str) -> Finding:
    if module.package in standard_library():
        cure = "this Python has removed the module, or does not have it yet: write the code without it"
    else:
        cure = (
            f"add {PROVIDERS.get(module.package, module.package)} to an environment of the step "
            '(kind = "wheels" puts its files beside model.py), or name the image of your own that has it, as '
            "--image name:tag"
        )
    return Finding(file.place(module), message, effect, cure)


def missing_imports(model: Model, destination: Destination) -> Iterator[tuple[PythonFile, Import, str]]:
    """The imports that neither the Python of the server nor the step has, with that Python."""
    if reference(model) or has_stub(model) or packages_of(model) or _gets_environment(model):
        return
    if destination.image and not image_of(destination):  # of an image of the user's own, nothing is known
        return
    python, _ = python_of(model.repository, destination)
    for file, module in imported(model):
        if standard_library(python).isdisjoint(alternatives(module)) and "numpy" not in alternatives(module):
            yield file, module, python


def _is_tool(module: Import, destination: Destination) -> bool:
    return module.package in _TOOLS_OF_IMAGES and image_of(destination) is not None


def _gets_environment(model: Model) -> bool:
    """Whether the build gives the step an environment; an invalid recipe may mean to."""
    if not model.repository.builds or model.repository.recipe is None:
        return False
    recipe = model.repository.recipe.recipe
    return recipe is None or any(model.folder in environment.steps for environment in recipe.environments.values())
