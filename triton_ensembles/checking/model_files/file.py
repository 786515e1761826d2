"""The facts about a model file."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of a model file.

    Args:
        name: as the file has it.
        data_type: Triton's name, such as ``TYPE_FP32``; "" when it is not known.
        dims: -1 for an axis of any size, with the batch axis; None when the rank is not known.
        kind: of ONNX: what it is instead of a tensor, such as ``a sequence``; "" for a tensor.
    """

    name: str
    data_type: str = ""
    dims: tuple[int, ...] | None = None
    kind: str = ""


@dataclass(frozen=True)
class ModelFile:
    """A model file as far as it was read.

    Args:
        broken: why no backend can load it, "" when it looks right.
        cure: what to do about that.
        is_pointer: whether it is a pointer of Git LFS.
        inputs, outputs: its tensors, None when they are not known.
        external: for each file that it needs beside itself (a path from its own folder) how many bytes that must have.
        names: further names that a config may use: initializers of ONNX, nodes of GraphDef.
        ir_version: of ONNX: the version of the file's format, 0 when it is not given.
        opsets: of ONNX: the opset of each domain; ONNX's own is "".
        operators: of ONNX: domain and name of those that its nodes use and the file itself does not define.
        license: of ONNX: what its metadata say, "" when they say nothing.
        kinds: of TorchScript: the type of each argument of ``forward``, as TorchScript writes it.
        results: of TorchScript: the type of each output, None when they are not known.
    """

    broken: str = ""
    cure: str = ""
    is_pointer: bool = False
    inputs: tuple[ModelTensor, ...] | None = None
    outputs: tuple[ModelTensor, ...] | None = None
    external: Mapping[str, int] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    ir_version: int = 0
    opsets: Mapping[str, int] = field(default_factory=dict)
    operators: frozenset[tuple[str, str]] = frozenset()
    license: str = ""
    kinds: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None
