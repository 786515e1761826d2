"""Build the reference's archive: python -m benchmarks.reference.build"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks.reference.environment import MEMBER, packed_environment
from checkout import BUILD
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.triton.model_config import CONFIG, format_config, read_config
from triton_ensembles.triton.targets import CPU

HERE = Path(__file__).parent
NAME = "bert_reference"
# The project's own store: what both ensembles have in common is made once.
PLACES = Places(ensembles=HERE, build=BUILD, dist=BUILD / "bench")


def built_models(progress: Progress) -> Built:
    """The reference without its environment: its Python steps run in whatever Python the server has.

    Raises:
        EnsembleError: the weights are not available.
    """
    return build(BuildRequest(HERE / NAME, CPU, PLACES, Weights("pretrained")), progress)


def built_reference(progress: Progress) -> Built:
    """The whole reference, built if necessary (some minutes: its environment holds torch).

    Raises:
        EnsembleError: packages or weights are not available.
    """
    models, store = built_models(progress), Store(PLACES.store)
    environment = packed_environment(store, progress)
    repository = PLACES.dist / NAME
    shutil.rmtree(repository, ignore_errors=True)
    add_environments(environment, models.repository, repository)

    def make(output: Path) -> dict[str, str]:
        write_archive(repository, output, progress=progress)
        return {}

    inputs = digest([models.sha256, file_digest(environment), file_digest(Path(__file__))])
    archive, changed = store.get_or_make(inputs, f"{NAME}.tar.gz", make)
    return replace(models, archive=archive.path, repository=repository, sha256=archive.sha256, changed=changed)


def add_environments(environment: Path, repository: Path, destination: Path) -> None:
    """A copy of ``repository`` in which each Python step has ``environment`` in its folder, as in AWS's example."""
    shutil.copytree(repository, destination, copy_function=os.link)
    for path in sorted(destination.glob(f"*/{CONFIG}")):
        config = read_config(path)
        if config.backend == "python":
            (path.parent / MEMBER).hardlink_to(environment)
            config.parameters["EXECUTION_ENV_PATH"].string_value = f"$$TRITON_MODEL_DIRECTORY/{MEMBER}"
            path.unlink()  # it is a link to the repository's own file
            path.write_text(format_config(config), encoding="utf-8")


if __name__ == "__main__":
    built = built_reference(print)
    print(f"{built.archive}  {built.archive.stat().st_size / 1e6:.1f} MB")
