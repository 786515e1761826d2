"""Entry points that Triton calls of a model instance in each Python-based backend: load, answer batches, unload."""

import contextlib
import ctypes
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.append(str(Path(__file__).resolve().parents[4]))  # why: triton_ensembles/runtime/backends/__init__.py

from triton_ensembles.runtime.backends import COMPLETING, ENGINES, PACKAGES

sys.path += os.environ[PACKAGES].split(os.pathsep)

from triton_ensembles.runtime.backends.common.batching import BadInputError, Request, Result
from triton_ensembles.runtime.backends.common.completion import model_file
from triton_ensembles.runtime.backends.common.model_instance import LoadError, read_model_instance


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        """Complete the config from the model's file, unless --disable-auto-complete-config is given."""
        written = config.as_dict()  # what is changed in it is what Triton gets
        if module := COMPLETING.get(written["backend"]):
            filename, *_ = ENGINES[written["backend"]]
            _imported(module, written["backend"]).complete(written, model_file(written, filename))
        return config

    def initialize(self, args: Mapping[str, str]) -> None:
        _check_numpy()
        backend = json.loads(args["model_config"])["backend"]
        filename, module, engine = ENGINES[backend]
        self._model = read_model_instance(args, filename)
        self._outputs = tuple(tensor.name for tensor in self._model.outputs)
        # Imported only here: for auto-completion Triton starts a stub, which often needs no engine.
        engines = _imported(module, backend)
        self._engine = getattr(engines, engine)(self._model)
        with contextlib.suppress(AttributeError):  # a C library other than glibc
            ctypes.CDLL(None).malloc_trim(0)  # what reading took: 117 MiB for InceptionV3's graph with OpenVINO

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        read = [self._read(request) for request in requests]
        answers = iter(self._engine.answer([item for item in read if isinstance(item, Request)]))
        return [_response(next(answers) if isinstance(item, Request) else item) for item in read]

    def finalize(self) -> None:
        self._engine.close()

    def _read(self, request: Any) -> Request | Exception:
        inputs = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        if self._model.batched and len({len(array) for array in inputs.values()}) > 1:
            sizes = ", ".join(f"{name} {len(array)}" for name, array in sorted(inputs.items()))
            return BadInputError(f"the inputs have different numbers of rows: {sizes}")
        requested = set(request.requested_output_names())
        return Request(inputs, tuple(name for name in self._outputs if name in requested))


def _imported(module: str, backend: str) -> Any:
    try:
        return importlib.import_module(f"triton_ensembles.runtime.backends.{module}")
    except ModuleNotFoundError as error:
        extra = "serve" if backend == "onnxruntime" else backend
        missing = f"the {backend} backend of this server needs the package {error.name}, which is not installed"
        raise LoadError(f"{missing}; run: pip install 'triton-ensembles[{extra}]'") from error


def _check_numpy() -> None:
    """Refuse numpy 2: to the stub of Triton 2.51.0 (24.10), built with pybind11 2.10, every input is its first element
    repeated, and every output empty. 24.11 has pybind11 2.12 (python_backend #384)."""
    if int(np.__version__.partition(".")[0]) >= 2:
        raise LoadError(f"Triton 2.51.0 misreads every tensor with numpy {np.__version__}: install numpy<2")


def _response(result: Result) -> Any:
    if isinstance(result, Exception):
        code = pb_utils.TritonError.INVALID_ARG if isinstance(result, BadInputError) else pb_utils.TritonError.INTERNAL
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(result), code))
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in result.items()])
