"""The life of a model in a Python-based backend: load once, answer batches, close.

A backend is a subclass named ``TritonPythonModel`` with the default name of the model's file and a ``load``.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import triton_python_backend_utils as pb_utils

from triton_ensembles.backends.common.batching import BadInputError, Result, Work
from triton_ensembles.backends.common.declared import LoadError, Model, read_model


class Engine(Protocol):
    """What ``load`` returns."""

    parameters: ClassVar[frozenset[str]]
    """Keys of the config's ``parameters`` that it reads."""

    def answer(self, works: Sequence[Work]) -> list[Result]:
        """One result for each work, in their order. Raises nothing that a request caused."""

    def close(self) -> None:
        """Give memory and threads back."""


class ServedModel:
    """Base class of the backends' ``TritonPythonModel``."""

    default_filename: ClassVar[str]

    def load(self, model: Model) -> Engine:
        """Make the engine; raise ``LoadError`` when the config and the file disagree."""
        raise NotImplementedError

    def initialize(self, args: Mapping[str, str]) -> None:
        _check_numpy()
        self._model = read_model(args, self.default_filename)
        self._outputs = tuple(tensor.name for tensor in self._model.outputs)
        self._engine = self.load(self._model)
        _trim_heap()
        for key in self._model.unknown_parameters(self._engine.parameters):
            pb_utils.Logger.log_warn(f"{self._model.name}: parameter {key} of the config is not one that is read here")

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        works = [self._work(request) for request in requests]
        answers = iter(self._engine.answer([work for work in works if isinstance(work, Work)]))
        return [_response(next(answers) if isinstance(work, Work) else work) for work in works]

    def finalize(self) -> None:
        self._engine.close()

    def _work(self, request: Any) -> Work | Exception:
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        if self._model.batched and len({len(array) for array in given.values()}) > 1:
            sizes = ", ".join(f"{name} {len(array)}" for name, array in sorted(given.items()))
            return BadInputError(f"the inputs have different numbers of rows: {sizes}")
        asked = set(request.requested_output_names())
        return Work(given, tuple(name for name in self._outputs if name in asked))


def _check_numpy() -> None:
    """Refuse numpy 2, whose arrays the stub of Triton 2.51.0 (24.10) gets silently wrong.

    That stub is built with pybind11 2.10, which reads numpy's dtype structure as it was before numpy 2: every input
    becomes its first element repeated, every output empty. 24.11 has pybind11 2.12 (python_backend #384), so this
    check goes when the server does.
    """
    if int(np.__version__.partition(".")[0]) >= 2:
        raise LoadError(f"Triton 2.51.0 misreads every tensor with numpy {np.__version__}: install numpy<2")


def _trim_heap() -> None:
    """Give back to the system what reading a model's file took: 117 MiB after InceptionV3's graph with OpenVINO."""
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _response(result: Result) -> Any:
    if isinstance(result, Exception):
        code = pb_utils.TritonError.INVALID_ARG if isinstance(result, BadInputError) else pb_utils.TritonError.INTERNAL
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(result), code))
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in result.items()])
