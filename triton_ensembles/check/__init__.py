"""The offline checker: every fault of model repositories, archives and endpoints, before anything is built."""

from __future__ import annotations

from triton_ensembles.check.checker import Report, check, check_paths
from triton_ensembles.check.fault import Fault, Place, Severity

__all__ = ["Fault", "Place", "Report", "Severity", "check", "check_paths"]
