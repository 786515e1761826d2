"""The ensembles as the benchmark builds them, and variants of them: copies in which an option of the recipe differs."""

import shutil
from collections.abc import Callable, Mapping

import tomlkit

from checkout import BUILD, PLACES
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.triton.targets import Target

FOLDER = BUILD / "bench" / "variants"
Edit = Callable[[str], str]
"""The text of a recipe -> that of the variant."""


def built_ensemble(ensemble: str, target: Target, progress: Progress) -> Built:
    """``ENSEMBLE`` as it is in git. Raises :class:`EnsembleError` when the build fails."""
    return build(BuildRequest(PLACES.ensembles / ensemble, target, PLACES), progress)


def built_variant(ensemble: str, name: str, edit: Edit, target: Target, progress: Progress) -> Built:
    """``ENSEMBLE_NAME``, built with the downloads and the store of the project, so that only what differs is made.

    Raises:
        EnsembleError: the recipe has nothing to edit, or the build fails.
    """
    places = Places(ensembles=FOLDER / "ensembles", build=FOLDER / "build", dist=FOLDER / "dist")
    original, copy = PLACES.ensembles / ensemble, places.ensembles / f"{ensemble}_{name}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (original / RECIPE).read_text(encoding="utf-8")
    if (edited := edit(text)) == text:
        raise EnsembleError(f"the recipe has no table in which {name} could be set", path=original / RECIPE)
    (copy / RECIPE).write_text(edited, encoding="utf-8")
    places.build.mkdir(parents=True, exist_ok=True)
    project = PLACES.ensembles.parent
    linked = {places.downloads: PLACES.downloads, places.store: PLACES.store, places.ensembles / ensemble: original}
    linked |= {FOLDER / name: project / name for name in ("envs", "pipelines")}  # recipes name files there
    for ours, theirs in linked.items():
        ours.unlink(missing_ok=True)  # it may lead to a checkout that is gone
        ours.symlink_to(theirs)
    return build(BuildRequest(copy, target, places), progress)


def with_precision(precision: str, recipe: str) -> str:
    """A precision below fp32 in each [engines.STEP] table, and the one backend that computes in it."""
    return _with("engines", {"backend": "openvino", "precision": precision}, recipe)


def with_one_instance(recipe: str) -> str:
    """Set one instance of each engine."""
    return _with("engines", {"instances": 1}, recipe)


def with_wheels(recipe: str) -> str:
    """Only the wheels' files in place of each packed environment."""
    return _with("environments", {"kind": "wheels"}, recipe)


def _with(table: str, values: Mapping[str, str | int], recipe: str) -> str:
    """A recipe in which every table ``[table.NAME]`` has these values."""
    document = tomlkit.parse(recipe)
    for entry in document.get(table, {}).values():
        entry.update(values)
    return tomlkit.dumps(document)
