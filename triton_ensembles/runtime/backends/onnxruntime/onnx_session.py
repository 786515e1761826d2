"""Runs an ONNX model with ONNX Runtime, configured by the fields of config.pbtxt that Triton's native backend reads.

Source of the keys: README of triton-inference-server/onnxruntime_backend; ``padded_batching`` is of padding.py.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result, decoded, run_batch
from triton_ensembles.runtime.backends.common.instance_engine import InstanceEngine
from triton_ensembles.runtime.backends.common.known_input import known_tensors, values_of
from triton_ensembles.runtime.backends.common.model_instance import (
    LoadError,
    ModelInstance,
    check_batch_axis,
    check_tensors,
)
from triton_ensembles.runtime.backends.common.padding import find_axes, run_padded
from triton_ensembles.runtime.backends.onnxruntime.tensors import tensor_of
from triton_ensembles.runtime.backends.onnxruntime.weights_gate import GatedFiles, read_gate

# optimization { graph { level } }: all optimizations when absent.
_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

# The config's parameters that are whole numbers, and ONNX Runtime's names of these options.
_OPTIONS = {
    "inter_op_thread_count": "inter_op_num_threads",
    "enable_mem_arena": "enable_cpu_mem_arena",
    "enable_mem_pattern": "enable_mem_pattern",
}
_PARALLEL = "execution_mode"
_ALLOCATOR = "session.use_device_allocator_for_initializers"
_OPTIMIZED = 2  # the level for a graph that is optimized already: no optimizations
_THREADS = "intra_op_thread_count"
_PADDED = "padded_batching"
_SHRINK = "memory.enable_memory_arena_shrinkage"
_FATAL = 4  # the severity of the log lines that remain


class OnnxSession:
    """An inference session for one model instance. Raises LoadError, also for mapped weights (weights_gate.py)."""

    def __init__(self, model: ModelInstance) -> None:
        self._batched = model.batched
        self._run_options = ort.RunOptions()
        if shrink := model.parameters.get(_SHRINK):
            self._run_options.add_run_config_entry(_SHRINK, shrink)
        try:
            mapped = _MappedModel(model, _level(model))
            self._engines = InstanceEngine(model, mapped.session, _THREADS)
        except LoadError:
            raise
        except Exception as error:  # ONNX Runtime's exceptions have no other common base
            raise LoadError(f"ONNX Runtime cannot load {model.file.name}: {error}") from error
        with self._engines.engine(1) as session:
            self._scalars = _scalars(model, session)
            _check(model, session, self._scalars)
            nodes = (session.get_inputs(), session.get_outputs())
            shapes = ({node.name: node.shape for node in group} for group in nodes)
            self._axes = find_axes(*shapes) if model.boolean(_PADDED, False) else None
        self._texts = {tensor.name for tensor in model.inputs if tensor.data_type == "TYPE_STRING"}

    def answer(self, requests: Sequence[Request]) -> list[Result]:
        with self._engines.engine(len(requests)) as session:
            run = partial(self._run, session)
            if self._axes:
                return run_padded(requests, run, self._axes)
            return run_batch(requests, run, batched=self._batched)

    def shrink(self) -> None:
        """Give back what the arenas keep. ONNX Runtime does so after a run, which need not succeed."""
        options = ort.RunOptions()
        options.add_run_config_entry(_SHRINK, "cpu:0")
        options.log_severity_level = _FATAL
        for session in self._engines.engines:
            for known in islice(known_tensors([tensor_of(node) for node in session.get_inputs()]), 1):
                with suppress(Exception):  # ONNX Runtime's exceptions have no other common base
                    session.run(None, values_of(known), options)

    def close(self) -> None:
        self._engines.close()

    def _run(self, session: Any, inputs: Mapping[str, Array], requested: tuple[str, ...]) -> Sequence[Array]:
        feed = dict(inputs)
        for name in self._texts & feed.keys():  # ONNX Runtime's strings are text, Triton's are bytes
            feed[name] = np.array(decoded(name, feed[name]), dtype=object).reshape(feed[name].shape)
        for name in self._scalars.keys() & feed.keys():
            feed[name] = feed[name].reshape(())
        try:
            outputs: Sequence[Array] = session.run(list(requested), feed, self._run_options)
        except InvalidArgument as error:
            raise BadInputError(str(error)) from error
        if self._scalars:
            pairs = zip(requested, outputs, strict=True)
            return [np.reshape(array, self._scalars.get(name, np.shape(array))) for name, array in pairs]
        return outputs


class _MappedModel:
    """Opens the sessions of an instance: over prepacked weights where they suit this process, else over the plain ones.
    The first session over the prepacked graph has to give the recorded answer. After a refusal, which is logged once,
    all sessions read the plain graph: the answers are the same, and each session keeps packed weights of its own. A
    file that is missing, damaged, or of another build raises LoadError."""

    def __init__(self, model: ModelInstance, level: int) -> None:
        self._model, self._level = model, level
        self._files = GatedFiles(model.file)
        gate = read_gate(self._files, checks=model.checks_files)
        self._gate = gate if model.gpu is None else None  # packed weights are for the CPU's kernels
        self._proven = False
        if self._gate and (reason := self._gate.refusal(ort.__version__, level)):
            self._refuse(reason)

    def session(self, threads: int) -> ort.InferenceSession:
        if self._gate:
            try:
                session = _session(self._model, self._files.prepacked, _OPTIMIZED, threads)
                self._proven = self._proven or self._gate.is_answered_by(session.run)
                if self._proven:
                    return session
                self._refuse("with them, the answer to the known input is not the recorded one")
            except LoadError:  # of the config, which the plain graph would not cure
                raise
            except Exception as error:  # ONNX Runtime's exceptions have no other common base
                self._refuse(f"with them, the known input is not answered: {error}")
        return _session(self._model, self._files.plain, self._level, threads)

    def _refuse(self, reason: str) -> None:
        self._gate = None
        pb_utils.Logger.log_warn(
            f"{self._model.name}: the prepacked weights of {self._files.prepacked.name} are not used, which takes more "
            f"memory and time to load: {reason}"
        )


def _level(model: ModelInstance) -> int:
    level = int(model.config.get("optimization", {}).get("graph", {}).get("level", 0))
    if level not in _LEVELS:
        raise LoadError(f"optimization.graph.level is {level}, but must be one of {', '.join(map(str, _LEVELS))}")
    return level


def _session(model: ModelInstance, file: Path, level: int, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    # By default idle threads spin for 1 ms on cores that others need; 20 us are enough for the gaps within a run.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "20")
    for key, option in _OPTIONS.items():
        if key in model.parameters:
            setattr(options, option, model.integer(key, 0))
    if model.integer(_PARALLEL, 0):
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    if _ALLOCATOR in model.parameters:
        options.add_session_config_entry(_ALLOCATOR, str(model.integer(_ALLOCATOR, 0)))
    options.graph_optimization_level = _LEVELS[level]
    return ort.InferenceSession(file, options, providers=_providers(model))


def _providers(model: ModelInstance) -> list[Any]:
    if model.gpu is None:
        return ["CPUExecutionProvider"]
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        raise LoadError("the config asks for KIND_GPU, but the installed ONNX Runtime is built for the CPU only")
    return [("CUDAExecutionProvider", {"device_id": model.gpu}), "CPUExecutionProvider"]


def _scalars(model: ModelInstance, session: ort.InferenceSession) -> dict[str, tuple[int, ...]]:
    """The config's dims of tensors that are single numbers in the file, by name: ones, as onnxruntime.cc takes them."""
    numbers = {node.name for node in (*session.get_inputs(), *session.get_outputs()) if not node.shape}
    declared = [tensor for tensor in (*model.inputs, *model.outputs) if tensor.name in numbers and not model.batched]
    return {tensor.name: tensor.dims for tensor in declared if tensor.dims and set(tensor.dims) == {1}}


def _check(model: ModelInstance, session: ort.InferenceSession, scalars: Mapping[str, tuple[int, ...]]) -> None:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    for kind, declared, nodes in (("input", model.inputs, inputs), ("output", model.outputs, outputs)):
        read = map(tensor_of, nodes)
        tensors = {tensor.name: replace(tensor, dims=scalars.get(tensor.name, tensor.dims)) for tensor in read}
        check_tensors(kind, declared, tensors.values(), batched=model.batched, all_needed=kind == "input")
        if model.batched:
            for tensor in declared:
                check_batch_axis(kind, tensor.name, tensors[tensor.name].dims, model.max_batch_size)
