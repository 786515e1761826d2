"""The fused archive of a model repository that has no recipe."""

import tempfile
from pathlib import Path

from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.lock import KEEP
from triton_ensembles.building.places import Places
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.examples.made_up import NAME as EXAMPLE
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.starter.from_repository import write_from_repository
from triton_ensembles.triton.targets import Target


def build_fused(
    repository: Path, name: str, target: Target, dist: Path, work: Path, progress: Progress, *, ask: bool = False
) -> Built:
    """Build ``dist``/fused/``name``.tar.gz from the model repository, imported into a project that lasts for this only.

    The archive is loaded once before it is put there, and with ``ask`` sent a request. ``work``: the folder for what
    builds share. Raises :class:`EnsembleError`: something is missing that only the user can say, or the build fails.
    """
    with tempfile.TemporaryDirectory(prefix="fused-") as project:
        folder = Path(project) / ENSEMBLES / name
        _, notes = write_from_repository(Path(project), name, repository, "", whole=False)
        if notes.left:
            missing = "; ".join(notes.left).replace(str(folder), shown(repository))
            message = f"{shown(repository)} needs a recipe first: {missing}"
            raise EnsembleError(message, cure=f"run: {COMMAND} new {name} --from {shown(repository)}")
        for line in notes.assumed:
            if EXAMPLE not in line:  # this project has no user who could replace it
                progress(f"assumed: {line}")
        places = Places(folder.parent, work, dist)
        once = f"for this build only: `{COMMAND} new {name} --from {shown(repository)}` makes a project that keeps it"

        def say(line: str) -> None:
            progress(line.replace(KEEP, once))

        return build(folder, target, places, allow_random=False, prove=True, ask=ask, progress=say)
