"""A model in OpenVINO's own format: model.xml, the graph, and model.bin, its weights, which OpenVINO maps.

The graph is what the backend reads for the config, after OpenVINO's optimizations for any processor, which each load
would repeat with copies of the weights. The files are accepted only if they answer a known input as the model does.
"""

from dataclasses import replace
from pathlib import Path

import openvino as ov
from openvino._offline_transformations import apply_moc_transformations  # what ov.convert_model applies to a file

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.known_answer import Known, first_answered
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.common.checksum import fingerprint
from triton_ensembles.runtime.backends.common.known_input import Answer, agree, sampled, values_of
from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance, read_model_instance
from triton_ensembles.runtime.backends.openvino.tensors import CHECKSUM, Names, dims_of, is_quantized, read

TOOLS = ("openvino",)
_RUNTIME = ("common/known_input", "common/model_instance", "openvino/tensors")
READS = ("artifacts/known_answer.py", *(f"runtime/backends/{module}.py" for module in _RUNTIME))


def make(job: Job) -> Facts:
    """Write the folder ``job.output``. The option ``config`` is the step's, as JSON. Raises :class:`EnsembleError`:
    OpenVINO cannot read the model, it and the config disagree, or the answers differ."""
    source = job.source_file()
    arguments = {
        "model_config": str(job.options["config"]),
        "model_repository": str(source.parent.parent),
        "model_version": source.parent.name,
        "model_name": source.name,
        "model_instance_name": f"{source.name}_0_0",
        "model_instance_kind": "CPU",
    }
    core = ov.Core()
    try:
        model = read_model_instance(arguments, source.name)
        graph, _ = read(core, model)
    except LoadError as error:
        raise EnsembleError(str(error)) from error
    job.output.mkdir()
    file = job.output / f"{source.stem}.xml"
    size = _write(graph, file)
    _compare(core, model, file)
    return {"openvino": ov.__version__.split("-")[0], "weights_bytes": size}


def _write(graph: ov.Model, file: Path) -> int:
    """Write the optimized ``graph`` as ``file``, and return the size of its weights in bytes. OpenVINO numbers the
    nodes that it adds, so only the first graph in a process gives the same bytes each time."""
    if not is_quantized(
        graph
    ):  # they would put roundings to int8 elsewhere: other answers than those that were measured
        apply_moc_transformations(graph, cf=True)
    ov.save_model(graph, file, compress_to_fp16=False)
    weights = fingerprint(file.with_suffix(".bin"))
    graph.set_rt_info(str(weights["crc32"]), CHECKSUM)
    ov.save_model(graph, file, compress_to_fp16=False)
    return weights["size"]


def _compare(core: ov.Core, model: ModelInstance, file: Path) -> None:
    """Raises :class:`EnsembleError` when ``file`` does not answer as the model that it is made from."""
    graph, names = read(core, model)
    inputs = [replace(tensor, dims=dims_of(graph.input(names[tensor.name]))) for tensor in model.inputs]
    if answered := first_answered(inputs, lambda known: _answer(core, graph, names, known)):
        known, expected = answered
        if not agree(_answer(core, core.read_model(file), names, known), expected):
            raise EnsembleError(f"OpenVINO's answers differ after {model.file.name} is written as {file.name}")


def _answer(core: ov.Core, graph: ov.Model, names: Names, known: Known) -> Answer:
    compiled = core.compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    request.infer({names[name]: values for name, values in values_of(known).items()})
    outputs = [request.get_tensor(port.any_name).data for port in graph.outputs]
    for port, output in zip(graph.outputs, outputs, strict=True):
        rank = port.partial_shape.rank
        # Behind a layer in int8, its scales of each channel keep the axis that a scalar index takes away (2026.4.1).
        if rank.is_static and output.ndim != rank.get_length():
            raise EnsembleError(
                f"OpenVINO answers {port.any_name} with {list(output.shape)}, and the file has {port.partial_shape}",
                cure="index before the last layer, not its answer (x[:, 0]), or leave it out (leave_out of int8_onnx)",
            )
    return sampled(map(str, range(len(outputs))), outputs)  # in their order: OpenVINO may give another of their names
