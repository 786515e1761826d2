"""Runs a TorchScript file, which declares the number and the kinds of its arguments and outputs.

It follows Triton's native PyTorch backend; tensor_positions.py and torch_settings.py name the rules taken from there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result, decoded, run_batch
from triton_ensembles.runtime.backends.common.instance_engine import InstanceEngine
from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES, LoadError, ModelInstance, Tensor
from triton_ensembles.runtime.backends.pytorch.tensor_positions import input_positions, output_positions
from triton_ensembles.runtime.backends.pytorch.torch_settings import THREADS, Settings, device_of

# Those of the native backend (src/libtorch_utils.cc). TYPE_STRING is a list of texts, not a tensor.
_TYPES = {
    getattr(torch, name): TRITON_TYPES[name]
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
}
_TEXT = "TYPE_STRING"


class TorchEngine:
    """The loaded model. Raises LoadError when torch cannot load the file, or it and the config disagree."""

    def __init__(self, model: ModelInstance) -> None:
        self._batched = model.batched
        self._outputs = {tensor.name: tensor for tensor in model.outputs}
        self._device = device_of(model.gpu)
        for kind, tensors in (("input", model.inputs), ("output", model.outputs)):
            _check_types(kind, tensors, batched=model.batched)
        self._settings = Settings(model)
        # torch has one number of threads for the whole process: it is the "engine", and the weights are there once.
        self._engines = InstanceEngine(model, lambda threads: threads, THREADS)
        self._threads = 0
        with self._settings.applied():
            self._model = _Script(model, self._device)
        for key, reason in self._settings.without_effect.items():
            pb_utils.Logger.log_warn(f"{model.name}: parameter {key} has no effect: {reason}")

    def answer(self, requests: Sequence[Request]) -> list[Result]:
        with self._engines.engine(len(requests)) as threads:
            if threads != self._threads:
                torch.set_num_threads(threads)
                self._threads = threads
            return run_batch(requests, self._run, batched=self._batched)

    def close(self) -> None:
        del self._model
        self._engines.close()

    def _run(self, inputs: Mapping[str, Array], outputs: tuple[str, ...]) -> Sequence[Array]:
        missing = sorted(set(self._model.inputs) - set(inputs))
        if missing:
            raise BadInputError(f"the request lacks input {missing[0]}")
        rows = len(next(iter(inputs.values()))) if self._batched else None
        with self._settings.applied():
            values: dict[str, Any] = {name: self._value(name, array) for name, array in inputs.items()}
            try:
                results = self._model(values)
            except Exception as error:  # a model may raise anything; the native backend has the same message
                raise RuntimeError(f"PyTorch execute failure: {_reason(error)}") from error
            answer = [self._array(name, results, rows) for name in outputs]
        self._settings.clean()
        return answer

    def _value(self, name: str, array: Array) -> torch.Tensor | list[str]:
        if array.dtype == np.object_:
            return decoded(name, array)
        if not array.flags.writeable:
            array = array.copy()  # torch warns about read-only memory, and models may write to it
        return torch.from_numpy(array).to(self._device)

    def _array(self, name: str, results: Sequence[Any], rows: int | None) -> Array:
        value, declared = results[self._model.outputs[name]], self._outputs[name]
        if isinstance(value, list):
            array = np.array([text.encode() for text in value], np.object_)
        else:
            dtype = _TYPES.get(value.dtype, str(value.dtype))
            if dtype != declared.data_type:
                raise ValueError(
                    f'output "{name}" is {declared.data_type} in the config, but the model returned {dtype}'
                )
            array = value.detach().contiguous().cpu().numpy()
        _check_dims(declared, array.shape, rows)
        return array


class _Script:
    """``forward()`` of a TorchScript module. Arguments are tensors or lists of strings, or one dictionary of tensors
    with the inputs' names as keys."""

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        try:
            self._module = torch.jit.load(model.file, map_location=device).eval()  # type: ignore[no-untyped-call]
            schema = self._module.forward.schema
        except (RuntimeError, ValueError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            message = f"torch {torch.__version__} cannot load {model.file.name} as TorchScript: {reason}"
            raise LoadError(message) from error
        arguments = schema.arguments[1:]  # the first one is the module itself
        names = [tensor.name for tensor in model.inputs]
        self._takes_dictionary = len(arguments) == 1 and arguments[0].type.kind() == "DictType"
        if self._takes_dictionary:
            self.inputs = {name: position for position, name in enumerate(names)}
        else:
            self.inputs = input_positions(names, [argument.name for argument in arguments])
            for tensor in model.inputs:
                _check_kind("input", tensor, arguments[self.inputs[tensor.name]].type)
        returned = schema.returns[0].type
        kinds = list(returned.elements()) if returned.kind() == "TupleType" else [returned]
        self.outputs = output_positions([tensor.name for tensor in model.outputs], len(kinds))
        for tensor in model.outputs:
            _check_kind("output", tensor, kinds[self.outputs[tensor.name]])

    def __call__(self, values: Mapping[str, Any]) -> Sequence[Any]:
        """All outputs, in the model's order, for tensors (or lists of strings) by input name."""
        in_order = [values[name] for name in sorted(self.inputs, key=self.inputs.__getitem__)]
        results = self._module(dict(values)) if self._takes_dictionary else self._module(*in_order)
        return results if isinstance(results, tuple) else (results,)


def _check_kind(place: str, tensor: Tensor, kind: Any) -> None:
    """Check for a tensor or, for TYPE_STRING, a list of texts: torch has no tensors of texts."""
    expected = "List[str]" if tensor.data_type == "TYPE_STRING" else "Tensor"
    if kind.annotation_str != expected:
        raise LoadError(
            f'{place} "{tensor.name}" is {tensor.data_type} in the config, which needs a {expected} in forward(), but '
            f"that has a {kind.annotation_str}"
        )


def _check_types(kind: str, tensors: Sequence[Tensor], *, batched: bool) -> None:
    for tensor in tensors:
        if tensor.data_type == _TEXT:
            if len(tensor.dims or ()) + batched != 1:
                raise LoadError(
                    f'{kind} "{tensor.name}" is {_TEXT}, which a torch model has as a list: it must have one axis, '
                    "the batch axis included"
                )
        elif tensor.data_type not in _TYPES.values():
            raise LoadError(
                f'{kind} "{tensor.name}" is {tensor.data_type}, which Triton\'s PyTorch backend does not support; it '
                f"supports {', '.join(_TYPES.values())} and {_TEXT}"
            )


def _check_dims(declared: Tensor, shape: tuple[int, ...], rows: int | None) -> None:
    dims = declared.dims or ()
    expected = dims if rows is None else (rows, *dims)
    if len(expected) != len(shape) or any(a not in (b, -1) for a, b in zip(expected, shape, strict=True)):
        axis = "" if rows is None else " with the batch axis"
        raise ValueError(
            f'output "{declared.name}" must be {list(expected)}{axis} according to the config, but the model returned '
            f"{list(shape)}"
        )


def _reason(error: Exception) -> str:
    """The message without the model's source code: TorchScript's ends in ``RuntimeError: …``, others begin with it."""
    text = str(error).strip()
    reasons = re.findall(r"^(?:[\w.]*(?:Error|Exception)): (.+)", text, re.MULTILINE)
    return reasons[-1] if reasons else text.partition("\n")[0]
