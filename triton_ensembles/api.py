"""The functions that are meant for import: what the commands do, with plain arguments. docs/python.md has examples.

Each imports what it needs when it is called: ``check`` works where only the light core is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.extras import missing_extra

if TYPE_CHECKING:
    from triton_ensembles.building.built import Built
    from triton_ensembles.building.places import Places
    from triton_ensembles.checking.check_report import Report
    from triton_ensembles.measuring.perf.sweep_report import Report as Measured

StrPath = str | os.PathLike[str]
Progress = Callable[[str], None]


@contextmanager
def _with_extra(name: str) -> Iterator[None]:
    """A missing package is an error with the line that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(error, name) or error from error


def check(
    paths: StrPath | Iterable[StrPath], *, target: str = "", image: str = "", instance: str = "", single: bool = False
) -> Report:
    """Every fault of model repositories and archives. Nothing is executed, imported or unpacked.

    Args:
        paths: a model repository, a folder of such, a folder of ensembles/ or a .tar.gz archive, or several of them:
            the members of one endpoint.
        target: "cpu", "gpu" or "fused"; "" if it is not decided.
        image: the release of Triton's image, such as "24.09"; "" for this project's own server.
        instance: an instance type of SageMaker, such as "ml.g5.xlarge".
        single: for a single-model endpoint, instead of a multi-model one.

    Returns:
        ``faults`` (each with ``rule``, ``severity``, ``place``, ``message`` and ``cure``), ``errors`` and ``warnings``
        (how many) and ``failed``.

    Raises:
        EnsembleError: a path does not exist, there is no model at all, or there is no such target, image or instance.
    """
    from triton_ensembles.checking.checker import check as check_paths
    from triton_ensembles.triton.destination import UNDECIDED, Destination
    from triton_ensembles.triton.releases import check_image, check_instance
    from triton_ensembles.triton.targets import check_target

    locations = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not locations:
        raise EnsembleError("there is nothing to check", cure="name a model repository or an archive")
    if target:
        check_target(target)
    if image:
        check_image(image)
    if instance:
        check_instance(instance)
    return check_paths(locations, Destination(target, instance, image, single=UNDECIDED if single else None))


def build(
    folder: StrPath,
    *,
    target: str = "cpu",
    image: str = "",
    instance: str = "",
    single: bool = False,
    random: bool = False,
    weights_dir: StrPath | None = None,
    prove: bool = False,
    progress: Progress = lambda _: None,
) -> Built:
    """Build the ensemble in ``folder``, which lies in the ensembles/ of a project, into dist/TARGET/NAME.tar.gz.

    Args:
        target: "cpu", "gpu" or "fused".
        image: the release of NVIDIA's image that the archive is for, such as "24.09"; gpu needs it.
        instance: the instance type of SageMaker that it is for.
        single: for a single-model endpoint, instead of a multi-model one.
        random: use seeded random weights where a source is not available.
        weights_dir: a folder of source files that you already have.
        prove: load the archive once in the server on this machine.
        progress: called with a line for each step of the work.

    Returns:
        ``archive``, ``repository`` (the same, as a model repository), ``sha256``, ``manifest``, ``random`` (whether any
        weights are) and ``changed`` (False if it was up to date).

    Raises:
        EnsembleError: anything that the user can fix. The previous archive is unchanged.
    """
    with _with_extra("build"):
        from triton_ensembles.building.build import build as build_ensemble
        from triton_ensembles.building.places import Weights
        from triton_ensembles.building.request import BuildRequest, Proof
        from triton_ensembles.triton.targets import target_of

        folder, places = _folder_and_places(folder)
        made_for = replace(target_of(target, image, instance), single=single)
        weights = Weights("auto" if random else "pretrained", Path(weights_dir) if weights_dir else None)
        proof = Proof.ANSWERS if prove else Proof.NONE
        return build_ensemble(BuildRequest(folder, made_for, places, weights, proof=proof), progress)


def clone(archive: StrPath, names: Iterable[str], folder: StrPath | None = None) -> list[Path]:
    """Write a copy of a built archive for each of ``names``, whose models have names of their own.

    Args:
        folder: where to; by default that of the archive.

    Raises:
        EnsembleError: the archive holds no models, a name contains characters other than letters, digits, _ and -, or
            the copies do not fit on the disk.
    """
    from triton_ensembles.building.variants.written import clone as write_clones

    archive = Path(archive)
    return list(write_clones(archive, names, Path(folder) if folder else archive.parent))


def diff(folder: StrPath, one: str = "cpu", other: str = "fused", *, image: str = "") -> list[str]:
    """Compare the ensemble in ``folder`` between two targets, as the lines of a unified diff. Nothing is built.

    Raises:
        EnsembleError: the ensemble has faults, or a target cannot run it.
    """
    from triton_ensembles.building.difference import difference
    from triton_ensembles.triton.targets import CPU, target_of

    folder, _ = _folder_and_places(folder)
    old, new = (CPU if name == CPU.name else target_of(name, image) for name in (one, other))
    return difference(folder, old, new)


def graph(path: StrPath) -> str:
    """The DAG of the ensemble at ``path``, a model repository or an archive, as a Mermaid flowchart.

    Raises:
        EnsembleError: there is no ensemble, or several, or a part of it cannot be read.
    """
    from triton_ensembles.graphs.mermaid import mermaid
    from triton_ensembles.graphs.read import read_graph

    return mermaid(read_graph(Path(path)))


def measure(
    folder: StrPath,
    *,
    target: str = "cpu",
    concurrencies: Sequence[int] = (1, 4, 16),
    seconds: float = 6.0,
    batch: int = 1,
    random: bool = False,
    output: StrPath | None = None,
    progress: Progress = lambda _: None,
) -> Measured:
    """Build the ensemble in ``folder`` if it is not up to date, serve it and load it with perf_analyzer.

    Args:
        target: "cpu" or "fused".
        concurrencies: numbers of concurrent requests, one point each.
        seconds: the duration of a point.
        batch: rows in a request.
        random: see :func:`build`.
        output: the folder for NAME.csv, NAME.json and NAME.png; by default reports/perf of the project.
        progress: called with a line for each step of the work.

    Returns:
        ``points``, each with ``client`` (``concurrency``, ``throughput`` in inferences a second, ``p50_ms`` and
        ``p99_ms``) and ``steps`` (the time of each step, in ms).

    Raises:
        EnsembleError: perf_analyzer is missing, the server does not start, or it answers with errors.
    """
    with _with_extra("perf"):
        from triton_ensembles.measuring.perf.sweep import Load
        from triton_ensembles.measuring.perf.sweep import measure as measure_all
        from triton_ensembles.project.examples.place import examples_folder
        from triton_ensembles.server.server_command import Reach
        from triton_ensembles.serving.served import of_built, server_of

        built = build(folder, target=target, random=random, progress=progress)
        folder, places = _folder_and_places(folder)
        (report,) = measure_all(
            {built.name: (built.repository, examples_folder(folder).parent)},
            Load(concurrencies, seconds, batch=batch),
            server_of([of_built(built, folder)], reach=Reach.SECRET),
            output=Path(output) if output else places.reports / "perf",
            progress=progress,
        )
        return report


def _folder_and_places(folder: StrPath) -> tuple[Path, Places]:
    from triton_ensembles.building.places import Places
    from triton_ensembles.project.location import ENSEMBLES
    from triton_ensembles.project.recipe.places import RECIPE

    path, cure = Path(os.path.abspath(folder)), f"name the folder of an ensemble: {ENSEMBLES}/NAME"  # noqa: PTH100 - a link keeps its name
    if not (path / RECIPE).is_file():
        raise EnsembleError(f"there is no {RECIPE} here", path=path, cure=cure)
    if path.parent.name != ENSEMBLES:
        raise EnsembleError(f"this folder does not lie in a folder {ENSEMBLES}/", path=path, cure=cure)
    return path, Places.of(path.parents[1])
