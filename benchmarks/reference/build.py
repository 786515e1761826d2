"""Build the reference's archive: python -m benchmarks.reference.build"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.reference.environment import MEMBER, packed_environment
from triton_ensembles.archive.write import remove_leftovers, write_archive
from triton_ensembles.building.build import Built, build
from triton_ensembles.building.places import Places
from triton_ensembles.building.store import Store
from triton_ensembles.files import digest, file_digest, locked
from triton_ensembles.paths import BUILD, ROOT
from triton_ensembles.triton.model_config import CONFIG, format_config, read_config
from triton_ensembles.triton.targets import CPU

HERE = Path(__file__).parent
NAME = "bert_reference"
# The project's own store: what both ensembles have in common is made once.
PLACES = Places(ensembles=HERE, build=BUILD, dist=BUILD / "bench")


def built_models(progress: Callable[[str], None]) -> Built:
    """The reference without its environment: its Python steps run in whatever Python the server has.

    Raises:
        EnsembleError: the weights cannot be had.
    """
    return build(HERE / NAME, CPU, PLACES, allow_random=False, weights_dir=None, progress=progress)


def built_reference(progress: Callable[[str], None]) -> Built:
    """The whole reference in build/bench/, built if need be (some minutes: its environment holds torch).

    Raises:
        EnsembleError: packages or weights cannot be had.
    """
    models = built_models(progress)
    environment = packed_environment(Store(PLACES.store), progress)
    repository = PLACES.dist / NAME
    archive = repository.with_name(f"{NAME}.tar.gz")
    state = repository.with_name(f"{NAME}.state.json")
    inputs = digest([models.sha256, file_digest(environment), file_digest(Path(__file__))])
    with locked(repository.with_name(f".{NAME}.lock"), progress):
        if (known := _known(state, archive)) and known["inputs"] == inputs:
            return replace(models, archive=archive, repository=repository, sha256=known["archive"], changed=False)
        partial = repository.with_name(f".{NAME}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        give_each_python_step(environment, models.repository, partial)
        remove_leftovers(archive)
        write_archive(partial, archive, progress=progress)
        shutil.rmtree(repository, ignore_errors=True)
        partial.replace(repository)
        sha256 = file_digest(archive)
        state.write_text(json.dumps({"inputs": inputs, "archive": sha256}))
    return replace(models, archive=archive, repository=repository, sha256=sha256, changed=True)


def give_each_python_step(environment: Path, repository: Path, destination: Path) -> None:
    """A copy of ``repository`` in which each Python step has ``environment`` in its folder, as in AWS's example."""
    shutil.copytree(repository, destination, copy_function=os.link)
    for path in sorted(destination.glob(f"*/{CONFIG}")):
        config = read_config(path)
        if config.backend == "python":
            shutil.copy(environment, path.parent / MEMBER)
            config.parameters["EXECUTION_ENV_PATH"].string_value = f"$$TRITON_MODEL_DIRECTORY/{MEMBER}"
            path.unlink()  # it is a link to the repository's own file
            path.write_text(format_config(config), encoding="utf-8")


def _known(state: Path, archive: Path) -> dict[str, str] | None:
    try:
        known: dict[str, str] = json.loads(state.read_text())
        return known if known["archive"] == file_digest(archive) else None
    except (OSError, ValueError, KeyError):
        return None


if __name__ == "__main__":
    made = built_reference(print)
    print(f"{made.archive.relative_to(ROOT)}  {made.archive.stat().st_size / 1e6:.1f} MB")
