"""A repository whose models depend on each other in every way: steps, an ensemble in an ensemble, calls in model.py."""

from pathlib import Path

from tests.configs import in_a_row, tensors
from tests.files import write_files
from tests.repositories import model_py

_TENSORS = f"max_batch_size: 8\n{tensors('X:FP32:4', 'OUT:FP32:4')}"
_PYTHON = model_py(2).replace('"Y"', '"OUT"')
_CALL = """
        x = pb_utils.Tensor("X", values)
        call = pb_utils.InferenceRequest(model_name="scale", requested_output_names=["OUT"], inputs=[x])
        values = pb_utils.get_output_tensor_by_name(call.exec(), "OUT").as_numpy()"""


def ensemble(*steps: str) -> str:
    """An ensemble that runs ``steps`` one after the other: X, T1, T2, and OUT at the end."""
    return _TENSORS + in_a_row(*(f"{step} X OUT" for step in steps), written="OUT")


def write_models(root: Path) -> Path:
    """Write into ``root``: both = scale, shift; outer = both, scale; caller calls scale."""
    calling = _PYTHON.replace("values):", f"values):{_CALL}")
    for name, code in (("scale", _PYTHON), ("shift", _PYTHON), ("caller", calling)):
        write_files(root / name, {"config.pbtxt": f'backend: "python"\n{_TENSORS}', "1/model.py": code})
    for name, steps in (("both", ("scale", "shift")), ("outer", ("both", "scale"))):
        write_files(root / name, {"config.pbtxt": ensemble(*steps), "1": None})
    return root
