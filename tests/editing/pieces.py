"""A repository whose models depend on each other in every way: steps, an ensemble in an ensemble, calls in model.py."""

from pathlib import Path

from tests.configs import in_a_row, tensors
from tests.files import write_files

_TENSORS = f"max_batch_size: 8\n{tensors('X:FP32:4', 'OUT:FP32:4')}"


def ensemble(*steps: str) -> str:
    """An ensemble that runs ``steps`` one after the other: X, T1, T2, and OUT at the end."""
    return _TENSORS + in_a_row(*(f"{step} X OUT" for step in steps), written="OUT")


_PYTHON = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X")
        ANSWER
"""
_ITSELF = 'return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x.as_numpy() + 1)])'
_CALLING = """call = pb_utils.InferenceRequest(model_name="scale", requested_output_names=["OUT"], inputs=[x])
        y = pb_utils.get_output_tensor_by_name(call.exec(), "OUT")
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", y.as_numpy())])"""


def write_models(root: Path) -> Path:
    """Write into ``root``: both = scale, shift; outer = both, scale; caller calls scale."""
    step = f'backend: "python"\n{_TENSORS}'
    files = {"both/config.pbtxt": ensemble("scale", "shift"), "outer/config.pbtxt": ensemble("both", "scale")}
    for name, answer in (("scale", _ITSELF), ("shift", _ITSELF), ("caller", _CALLING)):
        files |= {f"{name}/config.pbtxt": step, f"{name}/1/model.py": _PYTHON.replace("ANSWER", answer)}
    write_files(root, files)
    for name in ("both", "outer"):
        (root / name / "1").mkdir()
    return root
