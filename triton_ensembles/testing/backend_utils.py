"""``triton_python_backend_utils`` of Triton 24.10 for this process: NVIDIA's own file, and :mod:`native`."""

import sys
from enum import Enum
from pathlib import Path
from types import ModuleType

from triton_ensembles.testing import native

_FILE = Path(__file__).with_name("triton_python_backend_utils-r24.10.txt")


class _MemoryType(Enum):
    TRITONSERVER_MEMORY_GPU, TRITONSERVER_MEMORY_CPU = range(2)


_CLASSES = (
    "InferenceRequest InferenceResponse Logger MetricFamily PreferredMemory Tensor TritonError TritonModelException"
)
LATE = {name: getattr(native, name) for name in _CLASSES.split()} | dict(_MemoryType.__members__)
"""The names that the stub adds only when it has imported model.py (server issue #6535)."""
UTILS = ModuleType("triton_python_backend_utils")
exec(compile(_FILE.read_text(encoding="utf-8"), f"{UTILS.__name__}.py", "exec"), vars(UTILS))
vars(UTILS).update(LATE)
sys.modules[UTILS.__name__] = UTILS  # also for the fused runtime, whose step this is, and for tests that import it
