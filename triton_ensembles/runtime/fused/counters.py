"""The time by step of a fused ensemble, as custom metrics of the Python backend.

An increment is a message to the server that takes longer than some steps, so that they are collected and sent a few
times a second, from a thread.
"""

import threading
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from triton_ensembles.runtime.fused.calls import Metric, MetricFamily
from triton_ensembles.runtime.fused.ensemble import StepCount

_SECONDS = 0.2
# In the order in which they are sent: whoever has seen the requests has seen the rest.
_FAMILIES = {
    "fused_step_rows_total": "Rows of the requests that reached a step of a fused ensemble",
    "fused_step_executions_total": "Executions of a step of a fused ensemble",
    "fused_step_duration_us_total": "Time of requests in a step of a fused ensemble, in microseconds",
    "fused_step_requests_total": "Requests that reached a step of a fused ensemble",
}
# As Triton's nv_inference_request_summary_us, which it keeps of models alone, and for a minute.
_SUMMARY = "fused_step_summary_us", "Time of the latest 1000 requests in a step of a fused ensemble, in microseconds"
_QUANTILES = (0.5, 0.9, 0.99)
_LATEST = 1000


class Counters:
    """Counters with the labels model, version, model_instance and step; ``steps`` are in the order of the counts. Each
    instance has its own: equal labels are one counter for Triton, which deletes it with the first that goes."""

    def __init__(self, arguments: Mapping[str, str], steps: Sequence[str]) -> None:
        families = [MetricFamily(name, text, MetricFamily.COUNTER) for name, text in _FAMILIES.items()]
        own = {
            "model": arguments["model_name"],
            "version": arguments["model_version"],
            "model_instance": arguments["model_instance_name"],
        }
        labels = [own | {"step": step} for step in steps]
        self._metrics: list[list[Metric]] = [[family.Metric(label) for family in families] for label in labels]
        summary = MetricFamily(*_SUMMARY, MetricFamily.GAUGE)
        # By name: a model that is several steps counts them together.
        self._gauges = {
            label["step"]: [summary.Metric(label | {"quantile": str(quantile)}) for quantile in _QUANTILES]
            for label in labels
        }
        self._latest = {step: deque[float](maxlen=_LATEST) for step in steps}  # microseconds of each request
        self._sums = [[0.0] * len(families) for _ in steps]
        self._steps = steps
        self._lock, self._added, self._ended = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._send_often, daemon=True)
        self._thread.start()

    def add(self, counts: Sequence[StepCount]) -> None:
        """Add what the steps did for one batch."""
        with self._lock:
            for step, sums, count in zip(self._steps, self._sums, counts, strict=True):
                self._latest[step].extend([count.ns / 1000 / max(1, count.requests)] * count.requests)
                for number, value in enumerate((count.rows, count.executions, count.ns / 1000, count.requests)):
                    sums[number] += value
        self._added.set()

    def close(self) -> None:
        """Send what is left."""
        self._ended.set()
        self._added.set()
        self._thread.join()

    def _send_often(self) -> None:
        while not self._ended.is_set():
            self._added.wait()
            self._added.clear()
            self._ended.wait(_SECONDS)
            self._send()

    def _send(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, [[0.0] * len(row) for row in self._sums]
            latest = {
                step: np.array(self._latest[step]) for step, row in zip(self._steps, sums, strict=True) if any(row)
            }
        for step, microseconds in latest.items():
            for gauge, value in zip(self._gauges[step], np.quantile(microseconds, _QUANTILES), strict=True):
                gauge.set(float(value))
        for metrics, row in zip(self._metrics, sums, strict=True):
            for metric, value in zip(metrics, row, strict=True):
                if value:
                    metric.increment(value)
