"""The sessions of one model instance: over prepacked weights where they suit this process, else over the plain ones."""

from collections.abc import Callable
from pathlib import Path

import onnxruntime as ort
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance
from triton_ensembles.runtime.backends.onnxruntime.weights_gate import GatedFiles, read_gate

OpenSession = Callable[[Path, int, int], ort.InferenceSession]
"""Opens a file with a level of optimization, as ``optimization.graph.level`` has it, and a number of threads."""

OPTIMIZED = 2
"""The level for a graph that is optimized already: no optimizations."""


class MappedModel:
    """Opens the sessions of an instance.

    The first session over the prepacked graph has to give the recorded answer. After a refusal, which is logged once,
    all sessions read the plain graph: the answers are the same, and each session keeps packed weights of its own.
    A file that is missing, damaged, or of another build raises LoadError.
    """

    def __init__(self, model: ModelInstance, level: int, open_session: OpenSession) -> None:
        self._model, self._level, self._open = model, level, open_session
        self._files = GatedFiles(model.file)
        gate = read_gate(self._files, checks=model.checks_files)
        self._gate = gate if model.gpu is None else None  # packed weights are for the CPU's kernels
        self._proven = False
        if self._gate and (reason := self._gate.refusal(ort.__version__, level)):
            self._refuse(reason)

    def session(self, threads: int) -> ort.InferenceSession:
        if self._gate:
            try:
                session = self._open(self._files.prepacked, OPTIMIZED, threads)
                self._proven = self._proven or self._gate.is_answered_by(session.run)
                reason = "" if self._proven else "with them, the answer to the known input is not the recorded one"
            except LoadError:  # of the config, which the plain graph would not cure
                raise
            except Exception as error:  # ONNX Runtime's exceptions have no other common base
                reason = f"with them, the known input is not answered: {error}"
            if not reason:
                return session
            self._refuse(reason)
        return self._open(self._files.plain, self._level, threads)

    def _refuse(self, reason: str) -> None:
        self._gate = None
        pb_utils.Logger.log_warn(
            f"{self._model.name}: the prepacked weights of {self._files.prepacked.name} are not used, which takes more "
            f"memory and time to load: {reason}"
        )
