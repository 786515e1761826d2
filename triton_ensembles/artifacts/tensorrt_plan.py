"""A TensorRT plan of an ONNX file, with profiles of the recipe; tried, and compared with ONNX Runtime.

Options of the recipe: ``precision`` ("fp16", which is what GPUs are for, or "fp32"), ``profiles``, and ``accuracy``,
what it is tried with ("sentences" or "photographs"). The build adds who builds it and on which GPU
(triton_ensembles/building/tensorrt_plans.py). A plan that was built elsewhere is among the files, with what it answered
there.
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_ensembles.artifacts import ACCURACY, Facts, Job
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import BUILD
from triton_ensembles.tensorrt.api import build_with_api
from triton_ensembles.tensorrt.plan_builders import PYTHON, Gpu, Way, run_script
from triton_ensembles.tensorrt.plan_request import Order, precision_of, write_order
from triton_ensembles.tensorrt.profiles import profiles_of
from triton_ensembles.tensorrt.result import BuiltPlan, read_plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOOLS = ("onnx", "onnxruntime")
READS = tuple(
    f"triton_ensembles/{path}"
    for path in (
        *("tensorrt/plan_request.py", "tensorrt/profiles.py", "tensorrt/api.py", "tensorrt/result.py"),
        *("artifacts/accuracy.py", "artifacts/accuracy_on_sentences.py", "artifacts/accuracy_on_photographs.py"),
    )
)


def make(job: Job) -> Facts:
    assert job.file is not None, "a plan needs an ONNX file"
    name = str(job.options["name"])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if job.options["way"] == "elsewhere":
            for given in [path for path in job.files.values() if path.name.startswith(f"{name}.")]:
                (folder / given.name).symlink_to(given)
        else:
            _build(order_for(name, job.files[job.file], job.files, job.options), job, folder)
        plan = read_plan(folder, name)
        facts = plan.facts() | {"built_by": _built_by(job, plan)} | judge(plan, job.files[job.file], job.options)
        shutil.copyfile(plan.plan, job.output)
    return facts


def order_for(name: str, onnx: Path, files: Mapping[str, Path], options: Mapping[str, Any]) -> Order:
    """The order for a plan of the file ``onnx``.

    Args:
        files: the source's files by name; sentences are made tokens by its ``tokenizer.json``.

    Raises:
        EnsembleError: the recipe's options make no sense for this model.
    """
    precision, profiles = precision_of(options), profiles_of(options)
    if not profiles:
        raise EnsembleError("a plan needs profiles", cure='write options.profiles = ["1x8 64x32 64x256"]')
    inputs = _inputs(onnx)
    feeds = _trial(options).feeds(files, [profile.optimum[0] for profile in profiles])
    return Order(name, precision, profiles, inputs, tuple(feeds))


def judge(plan: BuiltPlan, onnx: Path, options: Mapping[str, Any]) -> Facts:
    """How near the plan came to ONNX Runtime on the same inputs. Raises :class:`EnsembleError` when not near enough."""
    import onnxruntime

    trial = _trial(options)
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    expected = [session.run([trial.OUTPUT], dict(feed))[0] for feed in plan.order.feeds]
    found = [_output(outputs, trial.OUTPUT, plan) for outputs in plan.outputs]
    facts: Facts = trial.judge(found, expected, plan.order.feeds)
    return facts


def _output(outputs: Mapping[str, NDArray[np.float32]], name: str, plan: BuiltPlan) -> NDArray[np.float32]:
    if name not in outputs:
        raise EnsembleError(f"{plan.plan.name} answered with {', '.join(outputs) or 'nothing'}, and not with {name}")
    return outputs[name]


def _build(order: Order, job: Job, folder: Path) -> None:
    options = job.options
    gpu = Gpu(str(options["gpu"]), str(options["compute_capability"]))
    way = Way(str(options["way"]), str(options["tensorrt"]), str(options["docker_image"]))
    assert job.file is not None
    script = write_order(order, job.files[job.file], folder)
    # What TensorRT found out about the kernels of this GPU in earlier builds.
    kept = BUILD / "timing" / f"{way.image or way.tensorrt}-{gpu.compute_capability}.cache".replace("/", "_")
    cache = folder / f"{order.name}.timing.cache"
    if kept.is_file():
        shutil.copyfile(kept, cache)
    if way.name == PYTHON:
        build_with_api(order, folder, gpu)
    else:
        run_script(way, script)
    if cache.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(".partial")
        shutil.copyfile(cache, partial)
        partial.replace(kept)


def _built_by(job: Job, plan: BuiltPlan) -> list[str]:
    """The calls, or the command."""
    if job.options["way"] == PYTHON:
        return ["network_from_onnx_path", "CreateConfig(fp16, profiles, load_timing_cache)", "engine_from_network"]
    return plan.order.build_command()


def _inputs(onnx_file: Path) -> dict[str, tuple[int, ...]]:
    import onnx

    graph = onnx.load(onnx_file, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    return {
        tensor.name: tuple(
            axis.dim_value if axis.HasField("dim_value") else -1 for axis in tensor.type.tensor_type.shape.dim
        )
        for tensor in graph.input
        if tensor.name not in weights
    }


def _trial(options: Mapping[str, Any]) -> Any:
    """The module that knows what the model is tried with."""
    return importlib.import_module(ACCURACY[str(options["accuracy"])])
