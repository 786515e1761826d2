"""A YOLO detector as ONNX in one form: RGB from 0 to 255 in, any batch, with the names of Triton's config.

images FP32 [batch, 3, 640, 640] RGB 0 to 255, letterboxed -> output FP32 [batch, rows, 85]: x, y, width, height, the
object's probability, the probabilities of 80 classes. The rows tell the head, and the head what the network was trained
on, which nodes in front of it compute:

* 8400: YOLOX, undecoded, as its releases are. It takes BGR from 0 to 255.
* 25200: YOLOv5, decoded, three boxes for each place. It takes RGB from 0 to 1.

The releases have a batch of one. Their reshapes keep the batch that comes in instead, and the result is accepted only
if it answers like the source, image by image. The metadata stay: tools write the license of the weights there.

The build runs it as a maker's script: ``python ensembles/yolov5/make_model.py OUTPUT JOB``, with the file of a
detector, or with the option ``seed`` of random weights for YOLOX.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.onnx_export import TOLERANCE, export
from triton_ensembles.artifacts.script import main
from triton_ensembles.ground.errors import EnsembleError

if TYPE_CHECKING:
    import onnx

SIDE, CHANNELS = 640, 85
HEADS = {8400: "YOLOX", 25200: "YOLOv5"}
IMAGES, OUTPUT = "images", "output"
BATCH = "batch"
OPSET = 11  # of the released files, which the random network imitates


def make(job: Job) -> Facts:
    return _random(job) if "seed" in job.options else _released(job)


def _released(job: Job) -> Facts:
    """From the source file: a released YOLOX, or a YOLOv5 of the user's own."""
    import onnx
    from google.protobuf.message import DecodeError

    source = job.source_file()
    try:
        model = onnx.load(source)
        onnx.checker.check_model(model)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise EnsembleError(f"{job.file} is not an ONNX file: {' '.join(str(error).split())[:200]}") from error
    return _write(model, source, job)


def _random(job: Job) -> Facts:
    """YOLOX with random weights of ``options.seed``; YOLOX-s unless ``depth`` and ``width`` (percent) are given."""
    import onnx
    import torch
    from yolox import Yolox, fill  # beside this script

    sizes = {name: int(job.options[name]) for name in ("depth", "width") if name in job.options}
    network = Yolox(**sizes)
    fill(network, int(job.options["seed"]))
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "yolox.onnx"
        export(network, source, {IMAGES: torch.zeros(1, 3, SIDE, SIDE)}, OUTPUT, {}, OPSET)
        return {"seed": int(job.options["seed"])} | _write(onnx.load(source), source, job)


def _write(model: onnx.ModelProto, source: Path, job: Job) -> Facts:
    import onnx

    head = _head(model, job.file or source.name)
    graph = model.graph
    (image,) = _inputs(graph)
    _rename(graph, {image.name: IMAGES, graph.output[0].name: OUTPUT})
    _free_the_batch(graph)
    _prepend(graph, head)
    for value in (*_inputs(graph), *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = BATCH
    del graph.value_info[:]
    onnx.checker.check_model(model)
    job.output.write_bytes(model.SerializeToString(deterministic=True))
    facts: Facts = {"head": head, "relative_difference_to_source": float(f"{_compare(job.output, source, head):.1e}")}
    properties = {entry.key.strip().lower(): entry.value for entry in model.metadata_props}
    licenses = [properties[key] for key in ("license", "licence") if key in properties]
    return facts | ({"license": licenses[0]} if licenses else {})


def _head(model: onnx.ModelProto, name: str) -> str:
    """The kind of network. Raises :class:`EnsembleError` when its tensors are those of neither."""
    inputs, outputs = ([_shape(value) for value in values] for values in (_inputs(model.graph), model.graph.output))
    fits = len(inputs) == 1 and inputs[0][1:] == (3, SIDE, SIDE) and bool(outputs)
    if not fits or len(outputs[0]) != 3 or outputs[0][1] not in HEADS or outputs[0][2] != CHANNELS:
        raise EnsembleError(
            f"{name} takes {inputs} and returns {outputs}, and this ensemble is for [1, 3, {SIDE}, {SIDE}] and "
            f"[1, rows, {CHANNELS}] with {' or '.join(f'{rows} rows ({head})' for rows, head in HEADS.items())}",
            cure="export YOLOX as its tools/export_onnx.py does by default, or YOLOv5 with --imgsz 640",
        )
    return HEADS[outputs[0][1]]


def _inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    weights = {tensor.name for tensor in graph.initializer}
    return [tensor for tensor in graph.input if tensor.name not in weights]


def _shape(value: onnx.ValueInfoProto) -> tuple[int | str, ...]:
    return tuple(axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim)


def _rename(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    """Everywhere in ``graph``; a tensor that has one of the new names already gets another."""
    used = {name for node in graph.node for name in (*node.input, *node.output)}
    names = {new: f"{new}_inner" for new in names.values() if new in used and new not in names} | names
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.output[1:]  # YOLOv5 may return its three levels besides
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = names.get(value.name, value.name)


def _free_the_batch(graph: onnx.GraphProto) -> None:
    """Let reshapes to a batch of one copy the batch from their input, which 0 says."""
    from onnx import numpy_helper

    shapes = {name for node in graph.node if node.op_type == "Reshape" for name in node.input[1:2]}
    for tensor in _constants(graph):
        name, value = tensor
        array = numpy_helper.to_array(value)
        if name in shapes and array.ndim == 1 and array.size > 1 and array[0] == 1:
            array = array.copy()
            array[0] = 0
            value.CopyFrom(numpy_helper.from_array(array, value.name))


def _constants(graph: onnx.GraphProto) -> Iterator[tuple[str, Any]]:
    """The constant tensors of ``graph``, by the names under which nodes read them."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    yield node.output[0], attribute.t


def _prepend(graph: onnx.GraphProto, head: str) -> None:
    """Put what the network was trained on between ``images`` and its first nodes."""
    from onnx import helper, numpy_helper

    inner = f"{IMAGES}_as_trained"
    for node in graph.node:
        node.input[:] = [inner if name == IMAGES else name for name in node.input]
    if head == "YOLOX":
        constant = numpy_helper.from_array(np.array([2, 1, 0], np.int64), "bgr")
        node = helper.make_node("Gather", [IMAGES, constant.name], [inner], axis=1)
    else:
        constant = numpy_helper.from_array(np.array(1 / 255, np.float32), "to_one")
        node = helper.make_node("Mul", [IMAGES, constant.name], [inner])
    graph.initializer.append(constant)
    graph.node.insert(0, node)


def _compare(converted: Path, source: Path, head: str) -> float:
    """The largest difference of ``made`` for a batch of two to ``source``, relative to the largest value.

    Raises:
        EnsembleError: it is more than TOLERANCE, or the graph takes no batch of two.
    """
    import onnxruntime

    generator = np.random.default_rng(7)
    images = generator.integers(0, 256, (2, 3, SIDE, SIDE)).astype(np.float32)
    as_trained = images[:, ::-1] if head == "YOLOX" else images / np.float32(255)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # that it cannot run is said below
    session, original = (
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for path in (converted, source)
    )
    name = original.get_inputs()[0].name
    expected = [original.run(None, {name: np.ascontiguousarray(image[None])})[0] for image in as_trained]
    try:
        (rows,) = session.run([OUTPUT], {IMAGES: images})
    except Exception as error:  # ONNX Runtime's exceptions have no other common base
        raise EnsembleError(
            f"{source.name} is for a batch of one, and takes no more: {' '.join(str(error).split())[:200]}",
            cure="export it with a dynamic batch (--dynamic)",
        ) from error
    reference = np.concatenate(expected)
    worst = float(np.abs(rows - reference).max() / np.abs(reference).max())
    if not worst <= TOLERANCE:
        raise EnsembleError(f"the batch of two differs from {source.name} by {worst:.2e}, more than {TOLERANCE}")
    return worst


if __name__ == "__main__":
    main(make)
