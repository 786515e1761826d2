"""Stages a fused ensemble: one model folder with the runtime, the packages and a folder for each step."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.artifacts.environment.bytecode import compile_files
from triton_ensembles.building.packed.staging import copy, place
from triton_ensembles.building.planned.fusion import Fusion
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.checking.suppression.comments import carried
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, files_in
from triton_ensembles.ground.paths import PACKAGE
from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.runtime.fused.plan import PLAN, STEPS, Plan
from triton_ensembles.triton.model_config import CONFIG, format_config

_ENTRY = PACKAGE / "runtime" / "fused" / "model.py"


def stage_fused(
    plan: BuildPlan, destination: Path, *, fusion: Fusion, artifacts: Mapping[str, Path], packages: Path
) -> None:
    """Write the repository into the folder ``destination``, which is empty or does not exist, with the made files by
    their path in the recipe and the folder of unpacked wheels. Raises :class:`EnsembleError`: a package has the name of
    one of the runtime's own files."""
    model = destination / plan.name
    version = model / fusion.version
    version.mkdir(parents=True)
    for written in written_paths(plan.folder, fusion.ensemble):
        copy(written, model / written.relative_to(plan.folder / fusion.ensemble))
    for taken in (_ENTRY.name, PLAN, STEPS, PACKAGE.name):
        if (packages / taken).exists():
            raise EnsembleError(f"a package of the environment is called {taken}, which the fused ensemble uses itself")
    place(packages, version)
    for source, inner in _runtime({step.backend for step in fusion.models}):
        copy(source, version / inner)
    compile_files(version, (version / PACKAGE.name).rglob("*.py"), plan.target.python)
    for step in fusion.models:
        folder = version / STEPS / step.name
        for written in written_paths(plan.folder, step.name):
            inner = written.relative_to(plan.folder / step.name)
            other_version = inner.parts[0].isdecimal() and inner.parts[0] != step.version
            if inner.name != CONFIG and not other_version:
                copy(written, folder / inner)
        (folder / step.version).mkdir(parents=True, exist_ok=True)
    for path, source_file in artifacts.items():
        step_name, inner_path = path.split("/", 1)
        place(source_file, version / STEPS / step_name / inner_path)
    _write_plan(plan, fusion, model, version)


def runtime_digests() -> dict[str, str]:
    """The sha256 of every file that a fused ensemble may get from this project, by its path in the package."""
    return {path.as_posix(): file_digest(source) for source, path in _runtime(set(ENGINES))}


def _runtime(backends: set[str]) -> Iterator[tuple[Path, Path]]:
    """The files of the runtime, and where they go below the version folder."""
    yield _ENTRY, Path(_ENTRY.name)
    engines = {ENGINES[backend][1].partition(".")[0] for backend in backends if backend in ENGINES}
    folders = ["runtime/fused", *(f"runtime/backends/{engine}" for engine in {"common"} | engines)]
    initial = PACKAGE / "runtime" / "__init__.py"
    yield initial, Path(PACKAGE.name) / "__init__.py"  # that of the package itself exports what is not in an archive
    sources = [path for folder in folders for path in (PACKAGE / folder).glob("*.py") if path != _ENTRY]
    for source in (initial, PACKAGE / "runtime" / "backends" / "__init__.py", *sources):
        yield source, Path(PACKAGE.name) / source.relative_to(PACKAGE)


def _write_plan(plan: BuildPlan, fusion: Fusion, model: Path, version: Path) -> None:
    ensemble = plan.configs[fusion.ensemble]
    files = {inner: (file.stat().st_size, file_digest(file)) for inner, file in files_in(version).items()}
    optional = [tensor.name for tensor in ensemble.input if tensor.optional]
    outputs = {
        output.name: list(output.reshape.shape if output.HasField("reshape") else output.dims)
        for output in ensemble.output
    }
    compiled = Plan(ensemble.max_batch_size > 0, optional, outputs, fusion.steps, fusion.called, plan.calls, files)
    (version / PLAN).write_text(compiled.as_json(), encoding="utf-8")
    config = fusion.config_with(file_digest(version / PLAN))
    comments = carried(*(plan.folder / step / CONFIG for step in plan.configs))
    (model / CONFIG).write_text(comments + format_config(config), encoding="utf-8")
