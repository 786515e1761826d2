"""Measures built ensembles on the real server with perf_analyzer: a concurrency sweep with the time of every step.

reports = measure([built], concurrencies=(1, 2, 4), output=Path("reports/perf"), progress=print)
"""

from __future__ import annotations

from triton_ensembles.perf.inputs import UserInputs
from triton_ensembles.perf.report import Report
from triton_ensembles.perf.sweep import measure

__all__ = ["Report", "UserInputs", "measure"]
