"""Model repositories as people have them: texts to a label, by a Python step, an ONNX network and a Python step."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests import configs
from tests.files import write_files

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


def tensors(taken: Tensor, written: Tensor) -> str:
    return f"max_batch_size: 8\n{configs.tensors(':'.join(taken), ':'.join(written))}"


def write_step(model: Path, taken: Tensor, written: Tensor, answer: str, *, imports: str = "", more: str = "") -> None:
    code = _STEP.format(input=taken[0], output=written[0], answer=answer, imports=imports)
    config = f'name: "{model.name}"\nbackend: "python"\n{tensors(taken, written)}{more}'
    write_files(model, {"1/model.py": code, "config.pbtxt": config})


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
    scheduling = configs.in_a_row(*steps, taken=taken[0], written=written[0])
    write_files(model, {"config.pbtxt": f'name: "{model.name}"\n{scheduling}{tensors(taken, written)}'})
    (model / "1").mkdir()


def write_repository(folder: Path, *, imports: str = "", more: str = "") -> None:
    """The whole repository; ``imports`` and ``more`` are lines of model.py and config.pbtxt of the Python steps."""
    lengths = "np.array([[len(t)] * 4 for t in x[:, 0]], np.float32)"
    write_step(folder / "pre", TEXT, X, lengths, imports=imports, more=more)
    write_network(folder / "net" / "1" / "model.onnx")
    gpu = "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] } ]\ndynamic_batching { }\n"
    config = f'name: "net"\nplatform: "onnxruntime_onnx"\n{tensors(X, Y)}{gpu}'
    write_files(folder / "net", {"config.pbtxt": config})
    write_step(folder / "post", Y, LABEL, 'np.array([[b"abc"[i : i + 1]] for i in x.argmax(1)], object)', more=more)
    write_ensemble(folder / ENSEMBLE, TEXT, LABEL, "pre TEXT X", "net X Y", "post Y LABEL")
