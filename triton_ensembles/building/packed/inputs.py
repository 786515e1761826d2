"""The digest of a build's inputs. If it is unchanged, the archive is up to date, whatever the time stamps say."""

from pathlib import Path

from triton_ensembles.archive import write
from triton_ensembles.building.made.artifact_maker import makers_of
from triton_ensembles.building.made.environments import code_of, environment_code
from triton_ensembles.building.made.mapped_weights import derivations
from triton_ensembles.building.made.sources import changed_files
from triton_ensembles.building.packed.fused_staging import runtime_digests
from triton_ensembles.building.planned.model_selection import with_needs
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.checking.suppression import comments
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.triton import backends, model_config, releases, targets
from triton_ensembles.triton.pip_server import server_python

_CODE = (write, comments, model_config, targets, backends, releases)  # and this folder


def digest_of_inputs(build: BuildPlan, engines_from: Path | None) -> str:
    """The sha256 of everything that determines the archive's content and is known without a network. ``engines_from``:
    a folder with TensorRT plans that were built on another machine. Raises :class:`EnsembleError`: the recipe names a
    file that does not exist."""
    artifacts = with_needs(build.recipe, build.artifacts)
    read = {path for artifact in artifacts for path in artifact.project_files}
    named = {artifact.source for artifact in artifacts}
    sources = [source for name, source in build.recipe.sources.items() if name in named]
    read |= {environment.file for environment in build.recipe.environments.values()}
    for path in sorted(read):
        if not (build.root / path).is_file():
            missing = f"the recipe names {shown(build.root / path)}, which does not exist"
            raise EnsembleError(missing, path=build.folder / RECIPE)
    plans = sorted(engines_from.glob(f"{build.name}.*")) if engines_from else []
    return digest(
        {
            "target": [build.target.name, build.target.image, build.target.instance, build.target.single],
            "python": build.target.python or server_python(),
            "files": {
                path.relative_to(build.folder).as_posix(): file_digest(path) if path.is_file() else ""
                for path in written_paths(build.folder)
            },
            "plans": {path.name: file_digest(path) for path in plans if path.is_file()},
            "reads": {path: file_digest(build.root / path) for path in read},
            "changed": [changed_files(source, build.root) for source in sources],
            "makers": [maker.identity() for artifact in artifacts for maker in makers_of(artifact)],
            "weights": [call.identity() for call in derivations(build).values()],
            "building": {path.name: file_digest(path) for path in Path(__file__).parents[1].rglob("*.py")},
            "code": code_of(*_CODE) | (environment_code() if build.recipe.environments else {}),
            "runtime": runtime_digests() if build.target.fuses else {},
            "releases": file_digest(releases.TABLE),
        }
    )
