"""The content of manifest.json: what an archive was built from, and for which target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_ensembles.archive.manifest import PRETRAINED, PROVIDED, RANDOM
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.triton.model_config import CONFIG

if TYPE_CHECKING:  # it downloads, and what is imported from here belongs to the light core
    from triton_ensembles.building.made.artifact_builder import MadeArtifact

_BLOCK = 1 << 16
_PIPELINE = ".dali"  # has no weights


def manifest_of(
    plan: BuildPlan, artifacts: Mapping[str, MadeArtifact], environments: Mapping[str, Any], python: str
) -> dict[str, Any]:
    """The manifest of an archive.

    * ``ensemble``: its name; ``target``: "cpu", "gpu" or "fused"
    * ``image``, ``instance``: what it was built for; "" for the server on this machine
    * ``triton``: the version of Triton
    * ``python``: the minor version of Python that the archive's Python code is for; "" where it does not matter
    * ``weights``: "random", "pretrained" or "provided"; see :func:`weights_origin`
    * ``artifacts``: by path in the recipe, ``sha256``, ``size`` in bytes, ``random``, ``made_from`` (maker, options,
      versions of tools, digests of files) and ``facts`` (what the maker measured;
      see checking/rules/model_files/image_artifacts.py)
    * ``environments``: by name, ``kind`` (folder, tar or wheels), ``sha256``, ``size``, ``file``, ``python``,
      ``provider``, ``glibc`` and ``packages``
    """
    return {
        "ensemble": plan.name,
        "target": plan.target.name,
        "image": plan.target.image,
        "instance": plan.target.instance,
        "triton": plan.target.release.triton,
        "python": python,
        "weights": weights_origin(plan, [artifact.record["random"] for artifact in artifacts.values()]),
        "artifacts": {path: artifact.record for path, artifact in artifacts.items()},
        "environments": dict(environments),
    }


def weights_origin(plan: BuildPlan, random: Iterable[bool]) -> str:
    """Origin of all the weights of an archive, as far as it is known.

    * ``random``: some are seeded random numbers
    * ``pretrained``: every file is made from a source of the recipe that has an address, whose sha256 was checked
    * ``provided``: some came by hand (a model file in git, a path of this machine), or there is no source at all, so
      their origin is unknown

    ``random``: for each made file, whether it has random weights.
    """
    if any(random):
        return RANDOM
    artifacts = [artifact for artifact in plan.artifacts if not artifact.path.endswith(_PIPELINE)]
    known = bool(artifacts) and all(_has_source(plan.recipe, artifact) for artifact in artifacts)
    return PRETRAINED if known and not any(_in_git(plan)) else PROVIDED


def _has_source(recipe: Recipe, artifact: Artifact) -> bool:
    if artifact.source is not None:
        return recipe.sources[artifact.source].has_address
    return artifact.needs is not None and _has_source(recipe, recipe.artifact(artifact.needs))


def _in_git(plan: BuildPlan) -> Iterator[Path]:
    """The files in version folders that hold weights: whatever a native backend loads, and what is not text."""
    artifacts = {artifact.path for artifact in plan.recipe.artifacts}
    for path in written_paths(plan.folder):
        step, *inner = path.relative_to(plan.folder).parts
        if step not in plan.configs or len(inner) < 2 or not inner[0].isdecimal() or path.is_dir():
            continue
        replaced = "/".join((step, *inner)) in artifacts or path.name == CONFIG or path.suffix == _PIPELINE
        if not replaced and holds_weights(plan.configs[step].backend, path):
            yield path


def holds_weights(backend: str, path: Path) -> bool:
    """Return whether a file in a version folder of a model for ``backend`` may hold weights."""
    return (backend != "python" and path.suffix not in (".py", ".md", ".txt")) or not _is_text(path)


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(_BLOCK)
