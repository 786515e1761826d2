"""The precisions of TensorRT plans, and what trtexec of a release takes for them.

Alone or several with "+": TensorRT chooses, layer by layer, the fastest of them, and fp32 where it has no other.
Sources: trtexec --help, 8.6 and 10 (--bf16 came with 9); NVIDIA, "Migrating trtexec Usage from TensorRT 10.x to 11.x".
"""

from collections.abc import Mapping
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.releases import version

FLAGS = {"fp32": "--noTF32", "tf32": "", "fp16": "--fp16", "bf16": "--bf16", "int8": "--int8"}
"""The flag of trtexec. TensorRT allows TF32 unless it is told otherwise."""


def precision_of(options: Mapping[str, Any]) -> str:
    """The precision in an artifact's options, "fp16" by default. Raises :class:`EnsembleError` when it is not valid."""
    precision = str(options.get("precision", "fp16"))
    parts = precision.split("+")
    alone = len(parts) == 1 or set(parts).isdisjoint(("fp32", "tf32"))
    if not FLAGS.keys() >= set(parts) or len(set(parts)) < len(parts) or not alone:
        cure = f'write one of {", ".join(FLAGS)}, or "int8+fp16" for int8 where the file has it, and fp16 elsewhere'
        raise EnsembleError(f"{precision!r} is not a precision of a plan", cure=cure)
    return "+".join(name for name in FLAGS if name in parts)


def is_strongly_typed(tensorrt: str) -> bool:
    """Return whether this TensorRT ("" is unknown) computes in the types of the ONNX file only."""
    return version(tensorrt) >= (11,)


def refuse_precision(path: str, options: Mapping[str, Any], tensorrt: str) -> None:
    """Raise :class:`EnsembleError` for an artifact whose precision this TensorRT ("" is unknown) has no flag for."""
    parts = precision_of(options).split("+")
    lost = [name for name in parts if name in ("fp16", "bf16")] if is_strongly_typed(tensorrt) else []
    if lost:
        message = f"TensorRT {tensorrt} computes in the types of the ONNX file only, and has no {FLAGS[lost[0]]}"
        cure = 'write options.precision = "fp32" ("tf32", "int8"), or build for an image up to 26.05'
        raise EnsembleError(f"{path} has precision {lost[0]}, but {message}", cure=cure)
    if "bf16" in parts and tensorrt and version(tensorrt) < (9,):
        message = f"{path} has precision bf16, but TensorRT {tensorrt} has no --bf16"
        raise EnsembleError(message, cure="write fp16, or build for an image from 24.05")


def refuse_types(precision: str, operators: frozenset[str], *, strongly_typed: bool) -> None:
    """Raise :class:`EnsembleError` where a precision does not go with an ONNX file that has these operators."""
    quantized = bool(operators & {"QuantizeLinear", "DequantizeLinear"})
    if "int8" in precision and not quantized:
        message = "precision int8 needs an ONNX file with QuantizeLinear and DequantizeLinear nodes, and this has none"
        raise EnsembleError(
            message, cure="name an artifact of the maker int8_onnx in needs, or write another precision"
        )
    if quantized and "int8" not in precision and not strongly_typed:
        message = f"this ONNX file is quantized (QuantizeLinear), and a plan of it in {precision} cannot be built"
        raise EnsembleError(message, cure='write options.precision = "int8", or "int8+fp16"')
