"""The engine libraries without a server, with the file and precision that a built step names in its config.

It does not matter whether the ensemble was built as drawn or fused.

An engine is a function: arrays by input name -> the first output that the config declares.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict
from numpy.typing import NDArray

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.onnxruntime.weights_gate import GatedFiles
from triton_ensembles.runtime.fused.plan import PLAN, STEPS
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config

Array = NDArray[Any]
Engine = Callable[[Mapping[str, Array]], Array]


@dataclass(frozen=True)
class Step:
    """A step of a built ensemble that an engine runs.

    Attributes:
        library: "onnxruntime" or "openvino".
        precision: "fp32", "bf16" or "int8".
    """

    library: str
    file: Path
    inputs: tuple[str, ...]
    output: str
    precision: str

    def __str__(self) -> str:
        return f"{self.library}, {self.file.name}, {self.precision}"


def find_step(repository: Path) -> Step:
    """The one step of the repository that an engine runs. Raises :class:`EnsembleError` when there is none."""
    for config, folder in _models(repository):
        library = (config.backend or config.platform).partition("_")[0]
        if library in _OPEN:
            file = folder / (config.default_model_filename or _FILES[library])
            lower = "int8" if ".int8." in file.name else "fp32"
            return Step(
                library=library,
                file=file,
                inputs=tuple(tensor.name for tensor in config.input),
                output=config.output[0].name,
                precision="bf16" if config.parameters["HINT_BF16"].string_value == "YES" else lower,
            )
    raise EnsembleError(f"none of its steps runs in {' or '.join(_OPEN)}", path=repository)


def _models(repository: Path) -> Iterator[tuple[ModelConfig, Path]]:
    """The configs of all models, and of the steps of fused ones, each with its version folder."""
    for path in sorted(repository.glob(f"*/{CONFIG}")):
        yield read_config(path), path.parent / "1"
    for path in sorted(repository.glob(f"*/1/{PLAN}")):
        for step in json.loads(path.read_text(encoding="utf-8"))["steps"]:
            yield ParseDict(step["config"], ModelConfig()), path.parent / STEPS / step["name"] / step["version"]


def open_engine(step: Step, threads: int) -> Engine:
    """Load the step's file for ``threads`` threads."""
    return _OPEN[step.library](step, threads)


def _onnxruntime(step: Step, threads: int) -> Engine:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # As the backend sets it. ONNX Runtime's default of 1 ms makes a loop on all cores several times slower as soon as
    # anything else runs.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "20")
    file = GatedFiles(step.file).prepacked
    if file.exists():  # the graph that the server maps: it is optimized already
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    else:
        file = step.file
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return lambda arrays: session.run([step.output], dict(arrays))[0]


def _openvino(step: Step, threads: int) -> Engine:
    import openvino

    core = openvino.Core()
    model = core.read_model(step.file)
    inputs = {name: _port(model.inputs, name) for name in step.inputs}
    model.reshape({port: openvino.PartialShape([-1, *list(port.partial_shape)[1:]]) for port in inputs.values()})
    properties = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,
        "INFERENCE_PRECISION_HINT": "bf16" if step.precision == "bf16" else "f32",
    }
    request = core.compile_model(model, "CPU", properties).create_infer_request()
    names = {name: port.any_name for name, port in inputs.items()}
    output = _port(model.outputs, step.output).any_name

    def run(arrays: Mapping[str, Array]) -> Array:
        request.infer({names[name]: array for name, array in arrays.items()}, share_inputs=True)
        result: Array = request.get_tensor(output).data
        return result

    return run


def _port(ports: Sequence[Any], name: str) -> Any:
    """OpenVINO calls the tensor ``op`` of a TensorFlow graph ``op:0``."""
    return next(port for port in ports if not port.names.isdisjoint((name, f"{name}:0")))


_OPEN: Mapping[str, Callable[[Step, int], Engine]] = {"onnxruntime": _onnxruntime, "openvino": _openvino}
_FILES = {"onnxruntime": "model.onnx", "openvino": "model.xml"}
