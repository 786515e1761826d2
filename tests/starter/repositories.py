"""Model repositories as people have them: texts to a label, by a Python step, an ONNX network and a Python step."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ENSEMBLE = "pipeline"
_STEP = """import numpy as np
import triton_python_backend_utils as pb_utils
{imports}

class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "{input}").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("{output}", {answer})]))
        return answers
"""
Tensor = tuple[str, str, str]
"""Name, type and dims."""
TEXT, X, Y, LABEL = ("TEXT", "STRING", "1"), ("X", "FP32", "4"), ("Y", "FP32", "3"), ("LABEL", "STRING", "1")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tensors(taken: Tensor, written: Tensor) -> str:
    lines = ['{} [ {{ name: "{}" data_type: TYPE_{} dims: [ {} ] }} ]\n'.format(kind, *tensor) for kind, tensor in
             (("input", taken), ("output", written))]  # fmt: skip
    return "max_batch_size: 8\n" + "".join(lines)


def write_step(model: Path, taken: Tensor, written: Tensor, answer: str, *, imports: str = "", more: str = "") -> None:
    code = _STEP.format(input=taken[0], output=written[0], answer=answer, imports=imports)
    write(model / "1" / "model.py", code)
    write(model / "config.pbtxt", f'name: "{model.name}"\nbackend: "python"\n{tensors(taken, written)}{more}')


def write_network(file: Path, width: int = 3, value: float = 1) -> None:
    """X times a matrix of 4 x ``width`` with ``value`` in its diagonal is Y."""
    weights = numpy_helper.from_array(value * np.eye(4, width, dtype=np.float32), "weights")
    sizes = (("X", 4), ("Y", width))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in sizes)
    graph = helper.make_graph([helper.make_node("MatMul", ["X", "weights"], ["Y"])], "network", [x], [y], [weights])
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def write_ensemble(model: Path, taken: Tensor, written: Tensor, *steps: str) -> None:
    """An ensemble of steps that are in a row; each is ``MODEL INPUT OUTPUT``."""
    wires = [taken[0], *(f"t{number}" for number in range(1, len(steps))), written[0]]
    uses = []
    for number, step in enumerate(steps):
        name, key_in, key_out = step.split()
        maps = (f'input_map {{ key: "{key_in}" value: "{wires[number]}" }} '
                f'output_map {{ key: "{key_out}" value: "{wires[number + 1]}" }}')  # fmt: skip
        uses.append(f'{{ model_name: "{name}" model_version: -1 {maps} }}')
    scheduling = f"ensemble_scheduling {{ step [ {', '.join(uses)} ] }}\n"
    write(model / "config.pbtxt", f'name: "{model.name}"\nplatform: "ensemble"\n{tensors(taken, written)}{scheduling}')
    (model / "1").mkdir()


def write_repository(folder: Path, *, imports: str = "", more: str = "") -> None:
    """The whole repository; ``imports`` and ``more`` are lines of model.py and config.pbtxt of the Python steps."""
    lengths = "np.array([[len(t)] * 4 for t in x[:, 0]], np.float32)"
    write_step(folder / "pre", TEXT, X, lengths, imports=imports, more=more)
    write_network(folder / "net" / "1" / "model.onnx")
    gpu = "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] } ]\ndynamic_batching { }\n"
    write(folder / "net" / "config.pbtxt", f'name: "net"\nplatform: "onnxruntime_onnx"\n{tensors(X, Y)}{gpu}')
    write_step(folder / "post", Y, LABEL, 'np.array([[b"abc"[i : i + 1]] for i in x.argmax(1)], object)', more=more)
    write_ensemble(folder / ENSEMBLE, TEXT, LABEL, "pre TEXT X", "net X Y", "post Y LABEL")
