"""The content of manifest.json: what an archive was built from, and for which target."""

from collections.abc import Mapping
from typing import Any

from triton_ensembles.building.made.artifact_builder import MadeArtifact
from triton_ensembles.building.packed.weights_origin import weights_origin
from triton_ensembles.building.planned.plan import BuildPlan


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
