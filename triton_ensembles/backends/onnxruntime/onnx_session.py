"""An ONNX model run by ONNX Runtime, set up by the same fields of config.pbtxt that Triton's own backend reads.

Source of the keys and their meaning: README of triton-inference-server/onnxruntime_backend, "Model Config Options".
``padded_batching`` is ours: see padding.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from triton_ensembles.backends.common.batching import Array, BadInputError, Result, Work, run_batch
from triton_ensembles.backends.common.cores import Shared
from triton_ensembles.backends.common.declared import TRITON_TYPES, LoadError, Model, Tensor, check_names, check_tensor
from triton_ensembles.backends.common.padding import Axes, find_axes, run_padded

# ONNX Runtime writes a type as tensor(<C's name>).
_C_NAMES = {"float": "float32", "double": "float64"}

# optimization { graph { level } }: all optimisations when absent.
_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

_OPTIONS: Mapping[str, Callable[[ort.SessionOptions, int], None]] = {
    "inter_op_thread_count": lambda options, value: setattr(options, "inter_op_num_threads", value),
    "execution_mode": lambda options, value: setattr(
        options, "execution_mode", ort.ExecutionMode.ORT_PARALLEL if value else ort.ExecutionMode.ORT_SEQUENTIAL
    ),
    "enable_mem_arena": lambda options, value: setattr(options, "enable_cpu_mem_arena", bool(value)),
    "enable_mem_pattern": lambda options, value: setattr(options, "enable_mem_pattern", bool(value)),
    "session.use_device_allocator_for_initializers": lambda options, value: options.add_session_config_entry(
        "session.use_device_allocator_for_initializers", str(value)
    ),
}
_THREADS = "intra_op_thread_count"
_PADDED = "padded_batching"
_SHRINK = "memory.enable_memory_arena_shrinkage"


class OnnxSession:
    """An inference session for one model instance.

    Raises:
        LoadError: the file is no ONNX model, or it and the config disagree about a tensor.
    """

    parameters: ClassVar[frozenset[str]] = frozenset({*_OPTIONS, _THREADS, _SHRINK, _PADDED})

    def __init__(self, model: Model) -> None:
        self._batched = model.batched
        self._run_options = ort.RunOptions()
        if shrink := model.parameters.get(_SHRINK):
            self._run_options.add_run_config_entry(_SHRINK, shrink)
        try:
            self._shared = Shared(model, partial(_session, model), _THREADS)
        except LoadError:
            raise
        except Exception as error:  # the exceptions of ONNX Runtime share no base but this one
            raise LoadError(f"ONNX Runtime cannot load {model.file.name}: {error}") from error
        with self._shared.engine(1) as session:
            _check(model, session)
            self._axes = _variable_axes(session) if model.parameters.get(_PADDED) == "true" else None
        self._texts = {tensor.name for tensor in model.inputs if tensor.data_type == "TYPE_STRING"}

    def answer(self, works: Sequence[Work]) -> list[Result]:
        with self._shared.engine(len(works)) as session:
            run = partial(self._run, session)
            if self._axes:
                return run_padded(works, run, self._axes)
            return run_batch(works, run, batched=self._batched)

    def close(self) -> None:
        self._shared.close()

    def _run(
        self, session: ort.InferenceSession, inputs: Mapping[str, Array], wanted: tuple[str, ...]
    ) -> Sequence[Array]:
        feed = {name: _decoded(name, array) if name in self._texts else array for name, array in inputs.items()}
        try:
            outputs: Sequence[Array] = session.run(list(wanted), feed, self._run_options)
        except InvalidArgument as error:
            raise BadInputError(str(error)) from error
        return outputs


def _session(model: Model, threads: int) -> ort.InferenceSession:
    return ort.InferenceSession(model.file, _session_options(model, threads), providers=_providers(model))


def _session_options(model: Model, threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    # By default threads spin for a millisecond when they have nothing to do, on cores that the other steps and the
    # server need: 20 us bridge the gaps within a run.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "20")
    for key, apply in _OPTIONS.items():
        if key in model.parameters:
            apply(options, model.integer(key, 0))
    level = int(model.config.get("optimization", {}).get("graph", {}).get("level", 0))
    if level not in _LEVELS:
        raise LoadError(f"optimization.graph.level is {level}, but must be one of {', '.join(map(str, _LEVELS))}")
    options.graph_optimization_level = _LEVELS[level]
    return options


def _providers(model: Model) -> list[Any]:
    if model.gpu is None:
        return ["CPUExecutionProvider"]
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        raise LoadError("the config asks for KIND_GPU, but the installed ONNX Runtime is built for the CPU only")
    return [("CUDAExecutionProvider", {"device_id": model.gpu}), "CPUExecutionProvider"]


def _check(model: Model, session: ort.InferenceSession) -> None:
    inputs = {node.name: _tensor(node) for node in session.get_inputs()}
    outputs = {node.name: _tensor(node) for node in session.get_outputs()}
    check_names("input", model.inputs, list(inputs.values()), all_needed=True)
    check_names("output", model.outputs, list(outputs.values()), all_needed=False)
    for kind, declared, found in (("input", model.inputs, inputs), ("output", model.outputs, outputs)):
        for tensor in declared:
            check_tensor(kind, tensor, found[tensor.name], batched=model.batched)
            dims = found[tensor.name].dims
            if model.batched and dims and dims[0] != -1:
                raise LoadError(
                    f'max_batch_size is {model.max_batch_size}, but {kind} "{tensor.name}" of the file has no batch '
                    f"axis of any size in front: {list(dims)}"
                )


def _variable_axes(session: ort.InferenceSession) -> Axes:
    return find_axes(
        {node.name: node.shape for node in session.get_inputs()},
        {node.name: node.shape for node in session.get_outputs()},
    )


def _tensor(node: Any) -> Tensor:
    """A NodeArg; its shape has a name (or None) for an axis of any size."""
    c_name = node.type.removeprefix("tensor(").removesuffix(")")
    data_type = TRITON_TYPES.get(_C_NAMES.get(c_name, c_name), node.type)
    return Tensor(node.name, data_type, tuple(size if isinstance(size, int) else -1 for size in node.shape))


def _decoded(name: str, array: Array) -> Array:
    """Triton's strings are bytes, ONNX Runtime's are text."""
    try:
        flat = [item.decode() for item in array.ravel()]
    except UnicodeDecodeError as error:
        raise BadInputError(f"input {name} holds text that is not UTF-8: {error}") from error
    return np.array(flat, dtype=object).reshape(array.shape)
