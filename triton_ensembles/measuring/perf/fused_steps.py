"""The time of every step of a fused ensemble, from the counters of its runtime at Triton's ``GET /metrics``.

For every step the runtime counts requests, rows, executions and microseconds (runtime/fused/counters.py), summed as
Triton does for a model, so that the averages are those of steps.py.

The counters arrive a few tenths of a second after the answers: each reading waits until the steps have counted every
request that Triton has counted for the ensemble. The runtime sends the requests last.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import tritonclient.http as http
from prometheus_client.parser import text_string_to_metric_families

from triton_ensembles.measuring.perf.steps import StepTimes, read_counters
from triton_ensembles.runtime.fused.plan import PLAN

_SETTLE_SECONDS = 5.0  # for counters; afterwards what there is counts
_POLL_SECONDS = 0.1
_COUNTERS = {
    "fused_step_requests_total": "requests",
    "fused_step_rows_total": "rows",
    "fused_step_executions_total": "executions",
    "fused_step_duration_us_total": "microseconds",
}

StepCounters = Counter[str]
"""The counters of one step (_COUNTERS), summed over the versions and instances of its ensemble."""


class FusedSteps:
    """The steps of the fused ensemble ``name``.

    Args:
        metrics_url: ``127.0.0.1:8002``.
        steps: their names, in the order of its plan.
    """

    def __init__(self, client: http.InferenceServerClient, metrics_url: str, name: str, steps: list[str]) -> None:
        self._client, self._url, self._name, self._steps = client, f"http://{metrics_url}/metrics", name, steps

    def read(self) -> dict[str, StepCounters]:
        """By step, once the counters have settled. Raises :class:`OSError`."""
        answered = read_counters(self._client, self._name).requests
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            counters = self._read()
            if all(step["requests"] >= answered for step in counters.values()) or time.monotonic() > deadline:
                return counters
            time.sleep(_POLL_SECONDS)

    def times(self, before: Mapping[str, StepCounters], after: Mapping[str, StepCounters]) -> tuple[StepTimes, ...]:
        return tuple(_times(step, after[step] - before[step]) for step in self._steps)

    def _read(self) -> dict[str, StepCounters]:
        with urllib.request.urlopen(self._url, timeout=_SETTLE_SECONDS) as reply:
            text = reply.read().decode()
        counters_by_step = {step: StepCounters() for step in self._steps}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in _COUNTERS and sample.labels.get("model") == self._name:
                    counters_by_step[sample.labels["step"]][_COUNTERS[sample.name]] += int(sample.value)
        return counters_by_step


def planned_steps(repository: Path, name: str) -> list[str]:
    """The steps of the ensemble ``name`` of a model repository in the order in which they run; none if it is not fused.

    A model that is the model of several steps counts them together, so it is named once.
    """
    versions = [path for path in (repository / name).glob(f"*/{PLAN}") if path.parent.name.isdecimal()]
    if not versions:
        return []
    plan = json.loads(max(versions, key=lambda path: int(path.parent.name)).read_text(encoding="utf-8"))
    return list(dict.fromkeys(str(step["name"]) for step in plan["steps"]))


def _times(step: str, spent: StepCounters) -> StepTimes:
    return StepTimes(
        step=step,
        queue_ms=None,
        compute_input_ms=None,
        compute_infer_ms=spent["microseconds"] / spent["requests"] / 1000 if spent["requests"] else 0.0,
        compute_output_ms=None,
        batch=spent["rows"] / spent["executions"] if spent["executions"] else 0.0,
        executions=spent["executions"],
    )
