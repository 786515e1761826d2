"""A model compiled by OpenVINO for the CPU: its own format (model.xml), an ONNX file or a frozen TensorFlow GraphDef.

Source of the parameters: README of triton-inference-server/openvino_backend, "Parameters". ``padded_batching`` is ours:
see padding.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import openvino as ov
import triton_python_backend_utils as pb_utils

from triton_ensembles.backends.common.batching import Array, BadInputError, Result, Work, run_batch
from triton_ensembles.backends.common.cores import Shared
from triton_ensembles.backends.common.declared import LoadError, Model
from triton_ensembles.backends.common.padding import run_padded
from triton_ensembles.backends.openvino.tensors import read, reason, variable_axes

_THREADS = "INFERENCE_NUM_THREADS"
_BF16 = "HINT_BF16"
_PADDED = "padded_batching"


class CompiledModel:
    """One inference request over the compiled model, for one model instance.

    All of its threads work on one run (one stream), so that a single row gets all of them.

    Raises:
        LoadError: OpenVINO cannot read or compile the file, or it and the config disagree about a tensor.
    """

    parameters: ClassVar[frozenset[str]] = frozenset({_THREADS, _BF16, _PADDED})

    def __init__(self, model: Model) -> None:
        if model.gpu is not None:
            raise LoadError("the config asks for KIND_GPU, but this backend runs OpenVINO on the CPU only")
        self._batched = model.batched
        core = ov.Core()
        graph, self._names = read(core, model)
        self._axes = variable_axes(graph, self._names, model) if model.parameters.get(_PADDED) == "true" else None
        try:
            self._shared = Shared(model, partial(_request, core, graph, _options(core, model)), _THREADS)
        except RuntimeError as error:
            raise LoadError(f"OpenVINO cannot compile {model.file.name}: {reason(error)}") from error

    def answer(self, works: Sequence[Work]) -> list[Result]:
        with self._shared.engine(len(works)) as request:
            run = partial(self._run, request)
            if self._axes:
                return run_padded(works, run, self._axes)
            return run_batch(works, run, batched=self._batched)

    def close(self) -> None:
        self._shared.close()

    def _run(self, request: ov.InferRequest, inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> Sequence[Array]:
        feed = {self._names[name]: np.ascontiguousarray(array) for name, array in inputs.items()}
        try:
            request.infer(feed, share_inputs=True)
        except RuntimeError as error:
            raise BadInputError(reason(error)) from error
        # Copies, because the next run writes to the same memory.
        return [np.array(request.get_tensor(self._names[name]).data) for name in wanted]


def _request(core: ov.Core, graph: ov.Model, options: Mapping[str, object], threads: int) -> ov.InferRequest:
    return core.compile_model(graph, "CPU", {**options, _THREADS: threads}).create_infer_request()


def _options(core: ov.Core, model: Model) -> dict[str, object]:
    bf16 = model.parameters.get(_BF16) == "YES"
    if bf16 and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        bf16 = False
        pb_utils.Logger.log_warn(
            f"{model.name}: {_BF16} is YES, but this CPU has no bf16 instructions: running in fp32"
        )
    return {
        # OpenVINO would choose bf16 by itself where the CPU has it.
        "INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32",
        "NUM_STREAMS": 1,
        # The other steps, the server and other models need these cores, too: threads must be free to move.
        "ENABLE_CPU_PINNING": False,
    }
