"""Triton backend "pytorch" in Python, for a server without the native one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))  # why: triton_ensembles/backends/__init__.py

from triton_ensembles.backends.common.served_model import ServedModel


class TritonPythonModel(ServedModel):
    default_filename = "model.pt"
    engine = "triton_ensembles.backends.pytorch.torch_engine:TorchEngine"
