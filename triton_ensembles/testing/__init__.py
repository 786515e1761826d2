"""Unit tests of Python steps, in the process of the test: docs/unit-tests.md.

from triton_ensembles.testing import load_step

step = load_step("models/tokenizer")
step.infer(TEXT=["good film"])["INPUT_IDS"]
"""

# First: it makes the module triton_python_backend_utils, which the others import.
import triton_ensembles.testing.backend_utils  # noqa: F401, I001

from triton_ensembles.testing.errors import TritonError
from triton_ensembles.testing.loading import load_step
from triton_ensembles.testing.step import Request, Step

__all__ = ["Request", "Step", "TritonError", "load_step"]
