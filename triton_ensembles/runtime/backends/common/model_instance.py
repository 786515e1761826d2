"""Declarations of config.pbtxt about one model instance, compared with what the model's file has.

Triton passes a Python-based backend the config as JSON text in ``args["model_config"]``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# numpy's (and TensorFlow's) name of an element type -> Triton's name in config.pbtxt (model_config.proto, DataType).
TRITON_TYPES = {
    **{name: f"TYPE_{name.upper()}" for name in ("bool", "string")},
    **{f"uint{bits}": f"TYPE_UINT{bits}" for bits in (8, 16, 32, 64)},
    **{f"int{bits}": f"TYPE_INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"TYPE_FP{bits}" for bits in (16, 32, 64)},
}


class LoadError(Exception):
    """Why a model cannot be loaded, in one sentence; Triton prints it as the reason of the failed load."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a config or of a model file. A config's dims leave out the batch axis."""

    name: str
    data_type: str | None  # Triton's name, such as "TYPE_FP32"; None where a file does not declare it
    dims: tuple[int, ...] | None  # -1 for an axis of any size; None where a file does not even declare the rank


@dataclass(frozen=True)
class ModelInstance:
    """An instance of a model: what the config declares, with ``reshape`` applied, and where Triton placed it. The
    first compares the files with their checksums for all: Triton loads no model of which one instance fails."""

    name: str
    file: Path
    max_batch_size: int  # 0 for a model without a batch axis
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: Mapping[str, str]
    config: Mapping[str, Any]  # the whole, as Triton completed it
    gpu: int | None  # the device of a KIND_GPU instance, None on the CPU
    checks_files: bool = True  # compares them with their checksums

    @property
    def instances(self) -> int:
        """Count the model's instances on all its devices; Triton completes every group's count."""
        return sum(int(group.get("count", 1)) for group in self.config.get("instance_group", ())) or 1

    @property
    def batched(self) -> bool:
        """Return whether tensors have a batch axis in front of their dims: max_batch_size is not 0."""
        return self.max_batch_size > 0

    def integer(self, parameter: str, default: int) -> int:
        """The value of ``parameter`` as a whole number >= 0. Raises LoadError when it is something else."""
        text = self.parameters.get(parameter)
        if text is None:
            return default
        if not text.isdecimal():
            raise LoadError(f'parameter {parameter} is "{text}", but must be a whole number, 0 or more')
        return int(text)

    def boolean(self, parameter: str, default: bool) -> bool:
        """The value of ``parameter``: true, false, 1 or 0. Raises LoadError when it is something else."""
        text = self.parameters.get(parameter, str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            raise LoadError(f'parameter {parameter} is "{text}", but must be true or false')
        return text in ("true", "1")


def read_model_instance(args: Mapping[str, str], default_filename: str) -> ModelInstance:
    """Read ``args`` of ``TritonPythonModel.initialize``. Raises LoadError when the model's file is missing."""
    config = json.loads(args["model_config"])
    folder = Path(args["model_repository"], args["model_version"])
    file = folder / (config.get("default_model_filename") or default_filename)
    if not file.exists():
        have = ", ".join(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ""
        raise LoadError(f"version {folder.name} of the model has no file {file.name} (it has: {have or 'nothing'})")
    if states := (config.get("sequence_batching") or {}).get("state"):
        cure = "only NVIDIA's own engines keep it: here, pass it on from a model.py, as an input and an output"
        raise LoadError(f'sequence_batching has the implicit state "{states[0]["input_name"]}", and {cure}')
    return ModelInstance(
        name=args["model_name"],
        file=file,
        max_batch_size=int(config.get("max_batch_size", 0)),
        inputs=(*map(_declared, config.get("input", ())), *_control_inputs(config)),
        outputs=tuple(map(_declared, config.get("output", ()))),
        parameters={key: value["string_value"] for key, value in config.get("parameters", {}).items()},
        config=config,
        gpu=int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else None,
        checks_files=args["model_instance_name"].endswith("_0_0"),
    )


def _control_inputs(config: Mapping[str, Any]) -> Iterator[Tensor]:
    """The inputs that the sequence batcher adds to each request (core r24.10, sequence_batch_scheduler.cc)."""
    for entry in (config.get("sequence_batching") or {}).get("control_input", ()):
        control = entry["control"][0]
        values = {f"TYPE_{kind.upper()}": control.get(f"{kind}_false_true") for kind in ("int32", "fp32", "bool")}
        data_type = next((name for name, pair in values.items() if pair), control.get("data_type"))
        yield Tensor(entry["name"], data_type, (1,))


def _declared(entry: Mapping[str, Any]) -> Tensor:
    # With `reshape` the server reshapes the tensor before and after the backend.
    shape = entry["reshape"]["shape"] if entry.get("reshape") else entry["dims"]
    return Tensor(entry["name"], entry["data_type"], tuple(int(size) for size in shape))


def check_tensors(
    kind: str, declared: Sequence[Tensor], tensors: Iterable[Tensor], *, batched: bool, all_needed: bool
) -> None:
    """Raise LoadError unless every declared tensor is in the file and, with ``all_needed``, the other way around."""
    there = {tensor.name: tensor for tensor in tensors}
    for tensor in declared:
        if tensor.name not in there:
            names = ", ".join(f'"{name}"' for name in there) or "none"
            raise LoadError(f'the config has {kind} "{tensor.name}", but the file has {names}')
        check_tensor(kind, tensor, there[tensor.name], batched=batched)
    missing = sorted(there.keys() - {tensor.name for tensor in declared})
    if all_needed and missing:
        raise LoadError(f'the file needs {kind} "{missing[0]}", which the config lacks')


def check_tensor(kind: str, declared: Tensor, tensor: Tensor, *, batched: bool) -> None:
    """Raise LoadError unless types are the same and dims, in the file with the batch axis if ``batched``, can agree."""
    if tensor.data_type is not None and tensor.data_type != declared.data_type:
        message = f'{kind} "{declared.name}" is {declared.data_type} in the config, but {tensor.data_type} in the file'
        raise LoadError(message)
    if tensor.dims is None or declared.dims is None:
        return
    shape = (-1, *declared.dims) if batched else declared.dims
    # The size of the batch axis is left to each backend: they differ in what a fixed one means.
    pairs = list(zip(shape, tensor.dims, strict=False))[1 if batched else 0 :]
    if len(shape) != len(tensor.dims) or any(a != b and -1 not in (a, b) for a, b in pairs):
        axis = " with the batch axis" if batched else ""
        message = f'{kind} "{declared.name}" is {list(shape)}{axis} in the config, but {list(tensor.dims)} in the file'
        raise LoadError(message)


def check_batch_axis(kind: str, name: str, dims: tuple[int, ...] | None, max_batch_size: int) -> None:
    """Raise LoadError unless the first of the file's ``dims`` is of any size, or their number is not known."""
    if dims is not None and dims[:1] != (-1,):
        raise LoadError(
            f'max_batch_size is {max_batch_size}, but {kind} "{name}" of the file has no batch axis of any size in '
            f"front: {list(dims)}"
        )
