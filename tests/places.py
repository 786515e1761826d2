"""A build in folders of one's own, which have what the project's own build/ has fetched and made, and a maker there."""

from pathlib import Path
from typing import Any

from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.triton.targets import CPU, Target


def borrowed(places: Places, folder: Path, *names: str, ensembles: Path | None = None) -> Places:
    """Empty build and dist folders in ``folder``, with links to these folders of ``places.build``."""
    (folder / "build").mkdir(parents=True)
    for name in names:
        (places.build / name).mkdir(parents=True, exist_ok=True)
        (folder / "build" / name).symlink_to((places.build / name).resolve())
    return Places(ensembles or places.ensembles, folder / "build", folder / "dist")


def built_by(places: Places, ensemble: str, target: Target = CPU, **options: Any) -> Built:
    """The ensemble, built; ``options`` are further fields of the request."""
    return build(BuildRequest(places.ensembles / ensemble, target, places, **options), print)


def builder_of(places: Places, ensemble: str, target: Target = CPU) -> ArtifactBuilder:
    """A maker of the ensemble's artifacts, with random weights where pretrained ones are not available."""
    plan = plan_build(places.ensembles / ensemble, target)
    return ArtifactBuilder(plan, Store(places.store), Sources(None, places.downloads), print, allow_random=True)
