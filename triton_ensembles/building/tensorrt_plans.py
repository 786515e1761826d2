"""Who builds the TensorRT plans of one build: this machine, or somebody before (``--engines-from``).

Both are settled before anything else is made, so that a machine which cannot get a plan says so at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from triton_ensembles.building.recipe import Artifact, Options
from triton_ensembles.errors import EnsembleError
from triton_ensembles.tensorrt.plan_builders import Gpu, Way, docker_image, find_gpu, find_way
from triton_ensembles.tensorrt.plan_request import precision_of
from triton_ensembles.tensorrt.profiles import profiles_of
from triton_ensembles.tensorrt.result import BuiltPlan, read_plan
from triton_ensembles.triton.releases import agree, instance_of, version
from triton_ensembles.triton.targets import Target

PLAN = "tensorrt_plan"  # the maker
_LEFT_BEHIND = ("plan", "log", "order.json", "feed*.bin", "output*.json", "timing.cache")  # see order.py


class PlanMaker(Protocol):
    """What the maker is told beside the recipe's options, and given beside the ONNX file."""

    def options(self, artifact: Artifact) -> Options: ...

    def files(self, artifact: Artifact, /) -> dict[str, Path]: ...


@dataclass(frozen=True)
class BuiltHere:
    """Plans are built by ``way`` on ``gpu``."""

    ensemble: str
    way: Way
    gpu: Gpu

    def options(self, artifact: Artifact) -> Options:
        return {
            "name": plan_name(self.ensemble, artifact),
            "way": self.way.name,
            "tensorrt": self.way.tensorrt,
            "docker_image": self.way.image,
            "gpu": self.gpu.name,
            "compute_capability": self.gpu.compute_capability,
        }

    def files(self, _artifact: Artifact) -> dict[str, Path]:
        return {}


@dataclass(frozen=True)
class BuiltElsewhere:
    """Plans lie in a folder, as the scripts of ``build.py engines`` leave them."""

    ensemble: str
    folder: Path

    def options(self, artifact: Artifact) -> Options:
        return {"name": plan_name(self.ensemble, artifact), "way": "elsewhere"}

    def files(self, artifact: Artifact) -> dict[str, Path]:
        name = plan_name(self.ensemble, artifact)
        found = (path for pattern in _LEFT_BEHIND for path in self.folder.glob(f"{name}.{pattern}"))
        return {path.name: path for path in sorted(found) if path.is_file()}


def plan_name(ensemble: str, artifact: Artifact) -> str:
    return f"{ensemble}.{artifact.step}"


def settle_plans(
    ensemble: str,
    artifacts: Sequence[Artifact],
    target: Target,
    engines_from: Path | None,
    progress: Callable[[str], None],
) -> PlanMaker | None:
    """Who makes the plans among ``artifacts``; None when there are none.

    Raises:
        EnsembleError: nobody can, or those that are there are for another GPU or another TensorRT.
    """
    plans = [artifact for artifact in artifacts if artifact.maker == PLAN]
    if not plans:
        return None
    refuse_fp16(plans, target)
    if engines_from is not None:
        for artifact in plans:
            _refuse_foreign(read_plan(engines_from, plan_name(ensemble, artifact)), artifact, target)
        return BuiltElsewhere(ensemble, engines_from)
    gpu = find_gpu()
    way = find_way(target.image, target.release.tensorrt, progress) if gpu else None
    if gpu is None or way is None:
        lacking = f"no TensorRT that fits on this machine with its {gpu.name}" if gpu else "no NVIDIA GPU here"
        numbers = version(target.release.tensorrt)[:3]
        wanted = f"=={'.'.join(map(str, numbers))}.*" if numbers else ""
        raise EnsembleError(
            f"{plans[0].path} of {ensemble} is a TensorRT plan, and there is {lacking}",
            cure="a plan is built on the GPU that will serve it. Three ways to get it:\n"
            f"  1. on a machine with that GPU, install tensorrt{wanted} and polygraphy with pip into .venv, or have\n"
            f"     trtexec of TensorRT {target.release.tensorrt or 'of the image'} on PATH, and build there\n"
            f"  2. there, let Docker run {docker_image(target.image)}: it is taken by itself when it is the only way\n"
            f"  3. ./build.py engines {ensemble} --image {target.image} --output DIR, run DIR/*.sh where trtexec and\n"
            "     the GPU are, and build anywhere with --engines-from DIR (ENGINES_FROM=DIR with make)",
        )
    _refuse_other_gpu(gpu.name, gpu.compute_capability, target, None)
    return BuiltHere(ensemble, way, gpu)


def refuse_fp16(plans: Sequence[Artifact], target: Target) -> None:
    """Raises :class:`EnsembleError` for a plan in FP16 where the target's TensorRT has no such option any more."""
    for artifact in plans:
        if version(target.release.tensorrt) >= (11,) and precision_of(artifact.options) == "fp16":
            raise EnsembleError(
                f"{artifact.path} is to be fp16, and TensorRT {target.release.tensorrt} of Triton {target.image} "
                "computes in the types of the ONNX file only, which are fp32",
                cure='write options.precision = "fp32", or build for an image up to 26.05',
            )


def _refuse_foreign(built: BuiltPlan, artifact: Artifact, target: Target) -> None:
    """Refuse a plan that the target's TensorRT or GPU does not read, or that the recipe does not ask for (any more)."""
    wanted = target.release.tensorrt
    if wanted and not agree(built.tensorrt, wanted):
        raise EnsembleError(
            f"this plan was built with TensorRT {built.tensorrt}, and Triton {target.image} has {wanted}",
            path=built.plan,
            cure=f"build it again in {docker_image(target.image)}",
        )
    _refuse_other_gpu(built.gpu, built.compute_capability, target, built.plan)
    asked, got = (
        " with ".join((precision, ", ".join(map(str, profiles))))
        for precision, profiles in (
            (precision_of(artifact.options), profiles_of(artifact.options)),
            (built.order.precision, built.order.profiles),
        )
    )
    if asked != got:
        raise EnsembleError(
            f"this plan is {got}, and the recipe asks for {asked}",
            path=built.plan,
            cure="let `build.py engines` write its order again, and build it by that",
        )


def _refuse_other_gpu(gpu: str, compute_capability: str, target: Target, plan: Path | None) -> None:
    instance = instance_of(target.instance) if target.instance else None
    if instance is None:
        return
    if not instance.gpu:
        raise EnsembleError(f"{target.instance} has no GPU", cure="build with TARGET=cpu, or name another INSTANCE")
    if instance.compute_capability != compute_capability:
        what = "this plan was built on" if plan else "this machine has"
        raise EnsembleError(
            f"{what} a {gpu} of compute capability {compute_capability}, and {target.instance} has a {instance.gpu} "
            f"({instance.compute_capability})",
            path=plan,
            cure=f"build the plan on an instance of the same family as {target.instance}",
        )
