"""Entry points that Triton calls of a fused ensemble: load, answer batches, unload. The steps run in the worker."""

import faulthandler
import importlib
import inspect
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

faulthandler.enable()  # a library or step that kills its process leaves its place in the log

# Before numpy is imported: the archive's packages, beside this file, are the ones that it was proven with.
sys.path.insert(0, str(Path(__file__).parent))

from triton_ensembles.runtime.fused.shared_files import has_company, share_files, show_proven

SHARED = share_files(Path(__file__).parent)

from triton_ensembles.runtime.fused.idle_memory import trim
from triton_ensembles.runtime.fused.integrity import IntegrityCheck
from triton_ensembles.runtime.fused.messages import Question
from triton_ensembles.runtime.fused.plan import DIGEST, read_plan
from triton_ensembles.runtime.fused.responses import response_of
from triton_ensembles.runtime.fused.worker import Worker

# Of asyncio Triton only asks whether each answer is a coroutine (python_backend r24.10, pb_stub.cc). With the real one,
# each further copy of digits took 34 instead of 30 MiB (`profile digits --target fused --copies 1,4,16`, 2026-11-28).
ASYNCIO = ModuleType("asyncio")
ASYNCIO.iscoroutine = inspect.iscoroutine  # type: ignore[attr-defined]
ASYNCIO.__getattr__ = lambda name: getattr(_imported_asyncio(), name)  # type: ignore[method-assign]


class TritonPythonModel:
    def initialize(self, args: Mapping[str, str]) -> None:
        folder = Path(args["model_repository"], args["model_version"])
        parameters = json.loads(args["model_config"]).get("parameters", {})
        plan = read_plan(folder, parameters.get(DIGEST, {}).get("string_value", ""))
        # The first instance checks for all: Triton does not load a model of which one instance fails.
        first = args["model_instance_name"].endswith("_0_0")
        self._worker = Worker(plan, folder, args)
        self._worker.start(shared=first and has_company(folder))
        unchecked = {path: file for path, file in plan.files.items() if path not in SHARED}
        began = time.time_ns()
        files = IntegrityCheck(folder, unchecked if first else {})
        try:
            files.finish()  # a damaged file is the better reason when the worker fails, too
            self._proven = show_proven(folder, began) if first else None
            self._worker.share()
            self._worker.wait_until_loaded()
        except BaseException:
            self._worker.stop()
            raise
        sys.modules.setdefault(ASYNCIO.__name__, ASYNCIO)
        trim()

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        answers = self._worker.ask([_question(request) for request in requests])
        return [response_of(answer) for answer in answers]

    def finalize(self) -> None:
        self._worker.stop()


def _imported_asyncio() -> ModuleType:
    """The real one, for a Triton that asks for more."""
    if sys.modules.get(ASYNCIO.__name__) is ASYNCIO:
        del sys.modules[ASYNCIO.__name__]
    return importlib.import_module(ASYNCIO.__name__)


def _question(request: Any) -> Question:
    return Question(
        id=request.request_id(),
        correlation_id=request.correlation_id(),
        flags=request.flags(),
        timeout=request.timeout(),
        parameters=request.parameters(),
        inputs={tensor.name(): tensor.as_numpy() for tensor in request.inputs()},
        wanted=tuple(request.requested_output_names()),
    )
