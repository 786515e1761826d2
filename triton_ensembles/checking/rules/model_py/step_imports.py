"""Imports of a step without an environment, which the bare Python of the server may lack. Nothing is run."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.built_for import python_of
from triton_ensembles.checking.environments import has_stub, reference
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.image_packages import image_modules
from triton_ensembles.checking.imported_packages import PROVIDERS, effect_without, imported, standard_library
from triton_ensembles.checking.packages import packages_of
from triton_ensembles.checking.python.imports import Import
from triton_ensembles.checking.python.source import PythonFile, link_to_nowhere
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Severity, rule
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.triton.releases import image_of
from triton_ensembles.triton.requirements import Declared

SOURCE = "server build.py on the branches r22.07 to r26.05: the images' Python has numpy, pip, setuptools and wheel"
GOOD = Example(python_model(), {"1/model.py": f"import json\nimport numpy\n\n{IDENTITY}"})
# Installed to build the image. setuptools also brings distutils, for Pythons that have it no more.
_TOOLS_OF_IMAGES = frozenset({"_distutils_hack", "distutils", "pip", "pkg_resources", "setuptools", "wheel"})


@rule(
    "Python has what model.py imports, where the step has no environment",
    bad=Example(python_model(), {"1/model.py": f"import not_installed\n\n{IDENTITY}"}),
    words="No module named 'not_installed'",
    lower=Severity.WARNING,
)
def import_missing(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a warning of what functions import, or find in folders that model.py adds to sys.path, of the tools that an
    image was built with, and where the image may have it: one that is not NVIDIA's own, or whose Dockerfile installs
    packages of which it is not known what they bring."""
    for file, module, python in missing_imports(model, destination):
        images = image_modules(destination, model.declared)
        if not images.names.isdisjoint(module.alternatives):
            continue  # what is declared for the step brings it
        message = f"Python {python} has no module '{module.package}', and neither has the step"
        effect = effect_without(module)
        is_certain = not (module.later or module.elsewhere)
        if module.package in _TOOLS_OF_IMAGES and image_of(destination):
            is_certain = False
            message = f"'{module.package}' is not of Python {python}: the image was built with it"
            effect = "an image without it, or this project's own server, does not load the model"
        elif images.more and module.package not in standard_library():
            is_certain = False
            message = f"the image is not known to have a module '{module.package}', and the step has none"
            effect = f"{images.more}; if it lacks it, {effect}"
        cure = _cure(file, module, model, destination)
        yield Finding(file.place(module.node), message, effect, cure, None if is_certain else Severity.WARNING)


def _cure(file: PythonFile, module: Import, model: Model, destination: Destination) -> str:
    provider, repository = PROVIDERS.get(module.package, module.package), model.repository
    copies = (f"/{module.package}.py", f"/{module.package}/__init__.py")
    folder = file.path.rpartition("/")[0]
    links = (f"{folder}/{module.package}{end}" for end in (".py", ""))
    broken = next((path for path in links if link_to_nowhere(model, path)), "")
    helper = next((entry.path for entry in repository.tree.members if f"/{entry.path}".endswith(copies)), None)
    if broken:
        return f"the link {broken} leads nowhere ('{link_to_nowhere(model, broken)}'): correct its target"
    if helper:
        return (
            f"it is in {helper}, where Python does not look: copy it into {join(model.root, folder)}/, beside model.py"
        )
    if module.package in standard_library():
        return "this Python has removed the module, or does not have it yet: write the code without it"
    if repository.builds:
        return f'add {provider} to an environment of the step: kind = "wheels" is the smallest'
    if repository.is_archive:
        return f"build it from its folder with {provider} in a requirements.txt, or take an image that has it (--image)"
    if destination.dockerfile and not model.declared:
        return f"write RUN pip install {provider} into {destination.dockerfile.path}"
    place = model.declared.place if model.declared else join(repository.shown, "requirements.txt")
    return f"write {provider} into {place}; serve and build then put it beside model.py"


def missing_imports(model: Model, destination: Destination) -> Iterator[tuple[PythonFile, Import, str]]:
    """Yield the imports that neither the Python of the server nor the step has, with that Python."""
    if reference(model) or has_stub(model) or packages_of(model) or _gets_environment(model):
        return
    python, _ = python_of(model.repository, destination)
    if not python or (destination.image and not image_of(destination)):  # an image of which nothing is known
        return
    known = standard_library(python) | image_modules(destination).names | {"numpy"}
    for file, module in imported(model):
        if known.isdisjoint(module.alternatives):
            yield file, module, python


def steps_with_packages(repository: Repository, destination: Destination) -> dict[Declared, list[Model]]:
    """The Python steps that import what neither they nor the server's Python have, by what is declared for them."""
    steps: dict[Declared, list[Model]] = {}
    for model in repository.models_read:
        try:
            if next(missing_imports(model, destination), None) and model.declared:
                steps.setdefault(model.declared, []).append(model)
        except UnknownValueError:
            continue
    return steps


def _gets_environment(model: Model) -> bool:
    """Return whether the build gives the step an environment; an invalid recipe may mean to."""
    recipe = model.repository.recipe
    return recipe is not None and recipe.gives_environment(model.folder)
