"""Where the TensorRT plans of a build come from: the folder in which the scripts of ``engines`` have built them.

This is decided before anything else is made, so that a build without its plans fails at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.artifacts.tensorrt.plan_request import BuiltPlan, docker_image, read_plan
from triton_ensembles.artifacts.tensorrt.profiles import profiles_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.project.recipe.plan_precision import precision_of, refuse_precision
from triton_ensembles.project.recipe.values import Options
from triton_ensembles.triton.releases import agree, instance_of
from triton_ensembles.triton.targets import Target

PLAN = "tensorrt_plan"  # the maker
_PREBUILT = ("plan", "log", "request.json", "feed*.bin", "output*.json")  # see plan_request.py


@dataclass(frozen=True)
class PlanInputs:
    """Inputs of a plan's maker in addition to the options of the recipe and the ONNX file."""

    options: Options
    files: dict[str, Path]


def plan_name(ensemble: str, artifact: Artifact) -> str:
    """The beginning of the names of a plan's files."""
    return f"{ensemble}.{artifact.step}" + (f".{artifact.version}" if artifact.version != "1" else "")


def find_plans(
    ensemble: str, artifacts: Sequence[Artifact], target: Target, engines_from: Path | None
) -> dict[str, PlanInputs]:
    """Inputs of the plans among ``artifacts``, by the artifact's path. ``engines_from``: the folder with the plans.
    Raises :class:`EnsembleError`: there is none, or they are for another GPU, another TensorRT or another recipe."""
    plans = [artifact for artifact in artifacts if artifact.maker == PLAN]
    for plan in plans:
        refuse_precision(plan.path, plan.options, target.release.tensorrt)
    if not plans:
        return {}
    if engines_from is None:
        raise EnsembleError(
            f"{plans[0].path} of {ensemble} is a TensorRT plan, which the GPU that will serve it has to build first",
            cure=f"run {COMMAND} engines {ensemble} --image {target.image} --output DIR, run DIR/*.sh on a machine "
            f"with that GPU, in {docker_image(target.image)} or with its trtexec on PATH, and build anywhere with "
            "--engines-from DIR (ENGINES_FROM=DIR with make)",
        )
    return {plan.path: _prebuilt(plan, plan_name(ensemble, plan), engines_from, target) for plan in plans}


def _prebuilt(artifact: Artifact, name: str, folder: Path, target: Target) -> PlanInputs:
    """The files of a plan that the script of ``engines`` wrote into ``folder``. Raises :class:`EnsembleError`:
    the target's TensorRT or GPU cannot load the plan, or it differs from the recipe."""
    built = read_plan(folder, name)
    version = target.release.tensorrt
    if version and not agree(built.tensorrt, version):
        message = f"this plan was built with TensorRT {built.tensorrt}, and Triton {target.image} has {version}"
        raise EnsembleError(message, path=built.plan, cure=f"build it again in {docker_image(target.image)}")
    _refuse_other_gpu(built, target)
    recipe = (precision_of(artifact.options), profiles_of(artifact.options))
    request = (built.request.precision, built.request.profiles)
    if recipe != request:
        in_recipe, in_plan = (f"{form} with {', '.join(map(str, profiles))}" for form, profiles in (recipe, request))
        cure = f"run `{COMMAND} engines` again, and build the plan with the new script"
        raise EnsembleError(f"this plan is {in_plan}, and the recipe has {in_recipe}", path=built.plan, cure=cure)
    candidates = (path for pattern in _PREBUILT for path in folder.glob(f"{name}.{pattern}"))
    files = {path.name: path for path in sorted(candidates) if path.is_file()}
    return PlanInputs({"name": name}, files)


def _refuse_other_gpu(built: BuiltPlan, target: Target) -> None:
    if not target.instance or not (instance := instance_of(target.instance)):
        return
    if not instance.gpu:
        raise EnsembleError(f"{target.instance} has no GPU", cure="build with TARGET=cpu, or name another INSTANCE")
    if instance.compute_capability != built.compute_capability:
        built_on = f"this plan was built on a {built.gpu} of compute capability {built.compute_capability}"
        message = f"{built_on}, and {target.instance} has a {instance.gpu} ({instance.compute_capability})"
        cure = f"build the plan on an instance of the same family as {target.instance}"
        raise EnsembleError(message, path=built.plan, cure=cure)
