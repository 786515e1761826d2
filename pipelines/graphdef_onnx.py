"""A frozen GraphDef as ONNX, for images whose Triton no longer has the TensorFlow backend.

The tensors keep the names of Triton's config, without TensorFlow's ":0": ``input`` FP32 [batch, rows, columns,
channels] -> ``output`` FP32 [batch, …]; batch is dynamic. The file is accepted only if it agrees with TensorFlow.

The build runs it as a maker's script: ``python pipelines/graphdef_onnx.py OUTPUT JOB``, with the options ``input`` and
``output``.
"""

import contextlib
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.accuracy import Floats
from triton_ensembles.artifacts.script import main
from triton_ensembles.ground.errors import EnsembleError

# ONNX Runtime reads 17 since 1.12 (Triton 22.07), and TensorRT 8.5 (Triton 22.11) reads none above it. tf2onnx writes
# at most 18, and an image classifier needs nothing of it.
OPSET = 17
TOLERANCE = 1e-4  # max abs difference of an output value to TensorFlow
BATCHES = (1, 4)
SEED = 17


def make(job: Job) -> Facts:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    source, names = job.source_file(), (str(job.options["input"]), str(job.options["output"]))
    job.output.write_bytes(convert(source, *names))
    difference, images = compare(job.output, source, *names)
    return {"max_abs_difference_to_tensorflow": float(f"{difference:.1e}"), "compared_images": images, "opset": OPSET}


def convert(source: Path, input_: str, output: str) -> bytes:
    """The ONNX file of the GraphDef ``source`` between ``input_`` and ``output``; a process's first has always the same
    bytes. Raises :class:`EnsembleError`: it is no GraphDef, lacks one of these tensors, or has no fixed image size."""
    import onnx
    import tf2onnx

    graph = _batched(source, input_, output)
    tensors = {f"{input_}:0": input_, f"{output}:0": output}
    with _copies_collected():
        model, _ = tf2onnx.convert.from_graph_def(
            graph, name=output, input_names=[f"{input_}:0"], output_names=[f"{output}:0"], opset=OPSET
        )
    for node in model.graph.node:
        node.input[:] = [tensors.get(name, name) for name in node.input]
        node.output[:] = [tensors.get(name, name) for name in node.output]
    for value in (*model.graph.input, *model.graph.output):
        value.name = tensors[value.name]
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


@contextlib.contextmanager
def _copies_collected() -> Iterator[None]:
    """tf2onnx 1.17 copies the graph with its weights before each of its optimizations, and the copies refer to
    themselves. Python finds them late: the conversion of InceptionV3 took 7.6 GB, and takes 2.4 so."""
    from tf2onnx.optimizer.optimizer_base import GraphOptimizerBase

    optimize = GraphOptimizerBase.optimize

    def optimize_and_collect(self: Any, graph: Any, iteration: int) -> Any:
        optimized = optimize(self, graph, iteration)
        gc.collect()
        return optimized

    GraphOptimizerBase.optimize = optimize_and_collect
    try:
        yield
    finally:
        GraphOptimizerBase.optimize = optimize


def compare(model: Path, source: Path, input_: str, output: str) -> tuple[float, int]:
    """The largest difference of an output between the ONNX ``model`` and its ``source``, and the number of images.
    Raises :class:`EnsembleError`: the difference is more than TOLERANCE, or not a number; or see :func:`convert`."""
    import onnxruntime
    import tensorflow as tf

    definition = _batched(source, input_, output)
    onnx = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    worst, images = 0.0, 0
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        shape = graph.get_tensor_by_name(f"{input_}:0").shape.as_list()
        with tf.compat.v1.Session(graph=graph) as session:
            for batch in _batches(tuple(shape[1:])):
                expected = session.run(f"{output}:0", {f"{input_}:0": batch})
                (answer,) = onnx.run([output], {input_: batch})
                if answer.shape != expected.shape:
                    message = f"the ONNX returns {answer.shape}, and TensorFlow {expected.shape}"
                    raise EnsembleError(message, path=source)
                # np.maximum propagates NaN, max() may not.
                worst, images = float(np.maximum(worst, np.abs(answer - expected).max())), images + len(batch)
    if not worst <= TOLERANCE:
        raise EnsembleError(f"the ONNX differs from TensorFlow by {worst:.2e}, more than {TOLERANCE}", path=source)
    return worst, images


def _batched(source: Path, input_: str, output: str) -> Any:
    """The part of the GraphDef that ``output`` needs, for any batch: ONNX accepts only the size that a file has."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(source.read_bytes())
    except DecodeError as error:
        raise EnsembleError("this is not a frozen GraphDef", path=source) from error
    placeholders = {node.name: node for node in definition.node if node.op == "Placeholder"}
    if input_ not in placeholders:
        message = f'no placeholder is named "{input_}"'
        raise EnsembleError(message, path=source, cure=f"set input to one of: {', '.join(placeholders)}")
    if all(node.name != output for node in definition.node):
        read = {name.split(":")[0].lstrip("^") for node in definition.node for name in node.input}
        ends = ", ".join(node.name for node in definition.node if node.name not in read)
        raise EnsembleError(f'no node is named "{output}"', path=source, cure=f"set output to one of: {ends}")
    shape = placeholders[input_].attr["shape"].shape
    if shape.unknown_rank or len(shape.dim) != 4 or any(dim.size < 1 for dim in shape.dim[1:]):
        cure = "its placeholder must have the shape [batch, rows, columns, channels]"
        raise EnsembleError(f'"{input_}" is not a batch of images of one size', path=source, cure=cure)
    shape.dim[0].size = -1
    return tf.compat.v1.graph_util.extract_sub_graph(definition, [output])


def _batches(shape: tuple[int, int, int]) -> Iterator[Floats]:
    """Batches of images of ``shape``, from -1 to 1: seeded noise, and photographs for Inception's size."""
    from triton_ensembles.artifacts.accuracy_on_photographs import SIDE, encoded_views, pixels_of

    generator = np.random.default_rng(SEED)
    for size in BATCHES:
        yield generator.uniform(-1, 1, (size, *shape)).astype(np.float32)
    if shape == (SIDE, SIDE, 3):
        photographs = np.stack([pixels_of(view) for view in encoded_views()[: sum(BATCHES)]])
        yield from np.split(photographs, np.cumsum(BATCHES)[:-1])


if __name__ == "__main__":
    main(make)
