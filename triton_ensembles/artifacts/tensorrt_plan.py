"""A TensorRT plan of an ONNX file. Its outputs are compared with those of ONNX Runtime.

Options of the recipe: ``precision`` (plan_precision.py), ``profiles``, and ``accuracy``: "sentences", "photographs", or
a script of the project, named in ``reads``, with ``feeds``, ``judge`` and ``OUTPUT`` as those. The plan, which a script
of ``engines`` has built, is among the files (building/made/tensorrt_plans.py).
"""

import inspect
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import Facts, Job, load_maker, load_script
from triton_ensembles.artifacts.accuracy import LEAST
from triton_ensembles.artifacts.tensorrt.plan_request import BuiltPlan, PlanRequest, read_plan
from triton_ensembles.artifacts.tensorrt.profiles import profiles_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.artifact_kinds import ACCURACY_CHECKS
from triton_ensembles.project.recipe.plan_precision import is_strongly_typed, precision_of, refuse_types

TOOLS = ("onnx", "onnxruntime")
READS = (
    *(f"artifacts/tensorrt/{module}.py" for module in ("plan_request", "profiles", "symmetric")),
    *("artifacts/accuracy.py", "artifacts/accuracy_on_sentences.py", "artifacts/accuracy_on_photographs.py"),
)


def make(job: Job) -> Facts:
    name, onnx = str(job.options["name"]), job.source_file()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for built in [path for path in job.files.values() if path.name.startswith(f"{name}.")]:
            (folder / built.name).symlink_to(built)
        plan = read_plan(folder, name)
        facts = plan.facts() | {"built_by": plan.request.build_command()} | judge(plan, onnx, job.options, job.root)
        shutil.copyfile(plan.plan, job.output)
    return facts


def plan_request_for(
    name: str, onnx: Path, files: Mapping[str, Path], options: Mapping[str, Any], root: Path, tensorrt: str
) -> PlanRequest:
    """The request for a plan of the file ``onnx`` by the ``options`` of the recipe. ``name``: the beginning of its
    files' names; ``files``: the source's by name (sentences are tokenized with ``tokenizer.json``); ``root``: the
    folder of the project; ``tensorrt``: the version that will build it. Raises :class:`EnsembleError`: the options are
    not valid for this model."""
    precision, profiles = precision_of(options), profiles_of(options)
    if not profiles:
        raise EnsembleError("a plan needs profiles", cure='write options.profiles = ["1x8 64x32 64x256"]')
    inputs, operators = _inputs(onnx)
    strongly_typed = is_strongly_typed(tensorrt)
    refuse_types(precision, operators, strongly_typed=strongly_typed)
    feeds = _accuracy_check(options, root).feeds(files, [profile.optimum[0] for profile in profiles])
    return PlanRequest(name, precision, profiles, inputs, tuple(feeds), strongly_typed)


def judge(plan: BuiltPlan, onnx: Path, options: Mapping[str, Any], root: Path) -> Facts:
    """Compare the plan's outputs with ONNX Runtime's. Raises :class:`EnsembleError` when they differ too much."""
    import onnxruntime

    check = _accuracy_check(options, root)
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    expected = [session.run([check.OUTPUT], dict(feed))[0] for feed in plan.request.feeds]
    for outputs in plan.outputs:
        if check.OUTPUT not in outputs:
            raise EnsembleError(f"{plan.plan.name} has no output {check.OUTPUT}; its outputs are {', '.join(outputs)}")
    answers = [outputs[check.OUTPUT] for outputs in plan.outputs]
    least = {"least": LEAST["int8"]} if "int8" in precision_of(options) else {}
    takes = inspect.signature(check.judge).parameters  # a script of the project need not
    facts: Facts = check.judge(answers, expected, plan.request.feeds, **(least if "least" in takes else {}))
    return facts


def _inputs(onnx_file: Path) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
    """The dims of the inputs by name, -1 for axes that vary, and the operators."""
    import onnx

    graph = onnx.load(onnx_file, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    shapes = {tensor.name: tensor.type.tensor_type.shape.dim for tensor in graph.input if tensor.name not in weights}
    inputs = {
        name: tuple(axis.dim_value if axis.HasField("dim_value") else -1 for axis in axes)
        for name, axes in shapes.items()
    }
    return inputs, frozenset(node.op_type for node in graph.node)


def _accuracy_check(options: Mapping[str, Any], root: Path) -> Any:
    """The module of the accuracy check, which has ``feeds``, ``judge`` and ``OUTPUT``."""
    name = options.get("accuracy")
    if str(name).endswith(".py") and (root / str(name)).is_file():
        return load_script(root / str(name))
    if name not in ACCURACY_CHECKS:
        message = f"{name!r} is not an accuracy check" if name else "a plan needs an accuracy check"
        checks = ", ".join(map(repr, ACCURACY_CHECKS))
        raise EnsembleError(message, cure=f"set options.accuracy to {checks} or a script of the project")
    return load_maker(str(name))[0]
