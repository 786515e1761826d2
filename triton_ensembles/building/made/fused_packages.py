"""The packages of a fused ensemble: its engines, numpy, and what the environments of its Python steps hold.

All of them are wheels for the Python of the target, unpacked beside the runtime.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.artifacts.environment.bytecode import compile_imported
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.smaller import smaller_forms
from triton_ensembles.artifacts.environment.wheels import Wheels, install_wheels
from triton_ensembles.building.made.declared_packages import modules_in
from triton_ensembles.building.made.environments import environment_code, glibc_of, located_wheels, without_numpy
from triton_ensembles.building.made.failed_imports import FAILED, refuse_failed
from triton_ensembles.building.made.lock import Lock, locked_entry
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import read_environment_file
from triton_ensembles.runtime.fused.plan import StepPlan
from triton_ensembles.server.interpreter import find_interpreter
from triton_ensembles.triton.pip_server import glibc_version, server_python

# By backend: the package, and whether it needs what it requires. Some require packages for tools that no server uses.
_ENGINES = {
    "onnxruntime": ("onnxruntime", False),
    "openvino": ("openvino", False),
    "tensorflow": ("tensorflow-cpu", True),
    "pytorch": ("torch", True),
    "dali": ("nvidia-dali-cuda130", True),
}
# What these packages have besides what serves on a CPU: headers, tools, code for other devices. ONNX Runtime's Python
# module has the library in itself; the separate one is for other languages.
LEFT_OUT = tuple(
    f"*/site-packages/{glob}"
    for glob in (
        *("onnxruntime/tools/*", "onnxruntime/transformers/*", "onnxruntime/quantization/*", "onnxruntime/datasets/*"),
        *("onnxruntime/capi/libonnxruntime.so*", "openvino/libs/*_gpu_*", "openvino/libs/*_npu_*"),
        *("openvino/libs/cache.json", "openvino/tools/*", "openvino/include/*", "torch/include/*", "torch/share/*"),
        # torch_shm_manager stays: torch is not imported without it.
        *("torch/bin/test_*", "torch/bin/*Test", "torch/bin/protoc*", "torch/bin/upgrader_models/*"),
        *("torch/test/*", "tensorflow/include/*", "nvidia/*/include/*"),
    )
)
_PYTHONS = ("38", "39", "310", "311", "312", "313", "314", "314t", "315", "315t")


def make_packages(plan: BuildPlan, steps: tuple[StepPlan, ...], store: Store, progress: Progress) -> Entry:
    """A folder with the steps' packages. Raises :class:`EnsembleError`: no wheel brings one, or two contradict."""
    target = plan.target
    specs = [read_environment_file(plan.root / environment.file) for environment in plan.recipe.environments.values()]
    requirements = [requirement for spec in specs for requirement in spec.pip_requirements]
    index = tuple(option for spec in specs for option in spec.pip_options)
    own, bare = _engines(steps, requirements)
    other_pythons = [python for python in _PYTHONS if python != target.python.replace(".", "")]
    exclude = (
        *(glob for environment in plan.recipe.environments.values() for glob in environment.exclude),
        *(f"*.cpython-{python}-*" for python in other_pythons),
        *LEFT_OUT,
    )
    limits = without_numpy((), target)[1]
    whole = Wheels([*requirements, *own], target.python, glibc_of(target), exclude, limits, index)
    engines = replace(whole, requirements=bare, dependencies=False)
    locks = [
        Lock(plan, name, target.python, packages)
        for name, packages in (("fused", whole.requirements), ("fused-engines", bare))
    ]

    for line in smaller_forms(whole.requirements, index):
        progress(line)

    def make(output: Path, pins: list[Pins]) -> dict[str, Any]:
        output.mkdir()
        packages = located_wheels(specs, whole, output, pins[0], progress)
        packages |= located_wheels(specs, engines, output, pins[1], progress)
        failed = compile_imported(output, modules_in(output), target.python, progress)
        return whole.facts(packages) | {FAILED: failed}

    code = environment_code() | {"fused_packages": file_digest(Path(__file__))}
    origin = {"whole": asdict(whole), "engines": asdict(engines), "code": code}
    entry = locked_entry(store, "packages", origin, locks, make, progress)
    if plan.origin:  # what is built from a path is loaded on this machine before it is in dist/
        _refuse_failed(plan, {step.name for step in steps if step.backend == "python"}, entry)
    del entry.facts[FAILED]
    return entry


def _refuse_failed(plan: BuildPlan, python: Collection[str], packages: Entry) -> None:
    """Raise :class:`EnsembleError` for an import of the ``python`` steps that fails on this machine."""
    (repository,) = find_repositories(plan.folder)
    if interpreter := find_interpreter(plan.target.python):
        for model in (model for model in repository.models_read if model.folder in python):
            with suppress(UnknownValueError):
                refuse_failed(model, packages, interpreter.executable)


def _engines(steps: tuple[StepPlan, ...], requirements: list[str]) -> tuple[list[str], list[str]]:
    """Return what the steps' engines require besides ``requirements``: with dependencies, and without."""
    named = {canonicalize_name(Requirement(requirement).name) for requirement in requirements}
    own = [] if "numpy" in named else [f"numpy=={version('numpy')}"]
    engines = {_ENGINES[step.backend] for step in steps if step.backend in _ENGINES}
    bare = sorted(_engine_requirement(name) for name, whole in engines if not whole and name not in named)
    own += sorted(_engine_requirement(name) for name, whole in engines if whole and name not in named)
    if any(step.backend == "dali" for step in steps) and "protobuf" not in named:
        own.append(_engine_requirement("protobuf"))  # the engine reads the pipeline's inputs from its file
    return own, bare


def onnxruntime_of(packages: Entry, store: Store, progress: Progress) -> Path | None:
    """A folder with the packages' version of ONNX Runtime for the Python that runs this; None for the installed one."""
    pinned = packages.facts["packages"].get("onnxruntime")
    if pinned in (None, version("onnxruntime")):
        return None
    requirement = f"onnxruntime=={pinned}"

    def make(output: Path) -> dict[str, Any]:
        output.mkdir()
        wheels = Wheels([requirement], server_python(), glibc_version())
        return {"packages": install_wheels(wheels, output, progress=progress)}

    key = digest({"requirement": requirement, "python": server_python(), "code": environment_code()})
    return store.get_or_make(key, "onnxruntime", make)[0].path


def _engine_requirement(package: str) -> str:
    """The installed version, which this project was tested with, or the newest before it that has a wheel."""
    return f"{package}<={version(package).partition('+')[0]}"
