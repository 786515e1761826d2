"""Runs a model with OpenVINO on the CPU: OpenVINO's own format (model.xml), ONNX or a frozen TensorFlow GraphDef.

Source of the parameters: README of triton-inference-server/openvino_backend; ``padded_batching`` is of padding.py.
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import openvino as ov
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result, run_batch
from triton_ensembles.runtime.backends.common.instance_engine import InstanceEngine
from triton_ensembles.runtime.backends.common.instruction_sets import computes_int8
from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance
from triton_ensembles.runtime.backends.common.padding import run_padded
from triton_ensembles.runtime.backends.openvino.tensors import is_quantized, read, reason, variable_axes

_THREADS = "INFERENCE_NUM_THREADS"
_BF16 = "HINT_BF16"
_PADDED = "padded_batching"
_DONTNEED = 4  # MADV_DONTNEED of Linux


class CompiledModel:
    """An inference request over the compiled model, for one model instance. All of its threads compute one run (one
    stream), so that even a single row uses all of them."""

    def __init__(self, model: ModelInstance) -> None:
        if model.gpu is not None:
            raise LoadError("the config asks for KIND_GPU, but this backend runs OpenVINO on the CPU only")
        self._batched = model.batched
        core = ov.Core()
        graph, self._names = read(core, model)
        if is_quantized(graph) and not computes_int8():
            pb_utils.Logger.log_warn(
                f"{model.name}: it is quantized to int8, but this CPU has no instructions for it (VNNI or AMX): it is "
                "no faster than in fp32, and less accurate, because sums of products saturate at 16 bits"
            )
        self._axes = variable_axes(graph, self._names, model) if model.boolean(_PADDED, False) else None
        try:
            self._engines = InstanceEngine(model, partial(_request, core, graph, _options(core, model)), _THREADS)
        except RuntimeError as error:
            raise LoadError(f"OpenVINO cannot compile {model.file.name}: {reason(error)}") from error
        _let_go(model.file.with_suffix(".bin"))

    def answer(self, requests: Sequence[Request]) -> list[Result]:
        with self._engines.engine(len(requests)) as request:
            run = partial(self._run, request)
            if self._axes:
                return run_padded(requests, run, self._axes)
            return run_batch(requests, run, batched=self._batched)

    def shrink(self) -> None:
        with suppress(AttributeError):  # an older OpenVINO
            for request in self._engines.engines:
                request.get_compiled_model().release_memory()

    def close(self) -> None:
        self._engines.close()

    def _run(self, request: ov.InferRequest, inputs: Mapping[str, Array], outputs: tuple[str, ...]) -> Sequence[Array]:
        feed = {self._names[name]: np.ascontiguousarray(array) for name, array in inputs.items()}
        try:
            request.infer(feed, share_inputs=True)
        except RuntimeError as error:
            raise BadInputError(reason(error)) from error
        # Copies, because the next run writes into the same memory.
        return [np.array(request.get_tensor(self._names[name]).data) for name in outputs]


def _request(core: ov.Core, graph: ov.Model, options: Mapping[str, object], threads: int) -> ov.InferRequest:
    return core.compile_model(graph, "CPU", {**options, _THREADS: threads}).create_infer_request()


def _options(core: ov.Core, model: ModelInstance) -> dict[str, object]:
    bf16 = model.parameters.get(_BF16) == "YES"
    if bf16 and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        bf16 = False
        pb_utils.Logger.log_warn(
            f"{model.name}: {_BF16} is YES, but this CPU has no bf16 instructions: running in fp32"
        )
    return {
        # By default OpenVINO uses bf16 where the CPU has it.
        "INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32",
        "NUM_STREAMS": 1,
        # The other steps, the server and other models also need these cores.
        "ENABLE_CPU_PINNING": False,
    }


def _let_go(file: Path) -> None:
    """Take the pages of a mapped file out of this process: an engine that has packed its weights reads few of them.
    What is read nevertheless comes from the kernel's cache. Mappings that may be written could differ from the file."""
    path = os.path.realpath(file)
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        addresses, permissions, *_, mapped = line.split(maxsplit=5)
        if mapped == path and permissions.startswith("r--"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
