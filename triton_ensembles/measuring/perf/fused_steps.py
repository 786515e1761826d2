"""The time of every step of a fused ensemble, from the counters of its runtime at Triton's ``GET /metrics``.

For every step the runtime counts requests, rows, executions and microseconds (runtime/fused/counters.py), summed as
Triton does for a model, so that they are counters as those of steps.py.

The counters arrive a few tenths of a second after the answers: each reading waits until the steps have counted every
request that Triton has counted for the ensemble. The runtime sends the requests last.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import tritonclient.http as http
from prometheus_client.parser import text_string_to_metric_families

from triton_ensembles.measuring.perf.steps import Counters, read_counters
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.server.sockets import connection_to

_SETTLE_SECONDS = 5.0  # for counters; afterwards what there is counts
_POLL_SECONDS = 0.1
_COUNTERS = {
    "fused_step_requests_total": "requests",
    "fused_step_rows_total": "rows",
    "fused_step_executions_total": "executions",
    "fused_step_duration_us_total": "microseconds",
}


def fused_counters(
    client: http.InferenceServerClient, metrics_url: str, name: str, steps: Sequence[str]
) -> dict[str, Counters]:
    """The counters of the fused ensemble ``name`` by step, once they have settled, summed over its versions and
    instances.

    Args:
        metrics_url: ``127.0.0.1:8002`` or ``unix:PATH``.
        steps: their names, in the order of its plan.

    Raises:
        OSError: the server does not answer.
    """
    answered = read_counters(client, name).requests
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        counters = _counted(metrics_url, name, steps)
        if all(step.requests >= answered for step in counters.values()) or time.monotonic() > deadline:
            return counters
        time.sleep(_POLL_SECONDS)


def _counted(metrics_url: str, name: str, steps: Sequence[str]) -> dict[str, Counters]:
    with closing(connection_to(metrics_url, _SETTLE_SECONDS)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    counts = {step: Counter[str]() for step in steps}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in _COUNTERS and sample.labels.get("model") == name:
                counts[sample.labels["step"]][_COUNTERS[sample.name]] += int(sample.value)
    return {
        step: Counters(
            requests=count["requests"],
            failures=0,
            rows=count["rows"],
            executions=count["executions"],
            ns={"compute_infer": 1000 * count["microseconds"]},
        )
        for step, count in counts.items()
    }


def planned_steps(repository: Path, name: str) -> list[str]:
    """The steps of the ensemble ``name`` of a model repository in the order in which they run; none if it is not fused.

    A model that is the model of several steps counts them together, so it is named once.
    """
    versions = [path for path in (repository / name).glob(f"*/{PLAN}") if path.parent.name.isdecimal()]
    if not versions:
        return []
    plan = json.loads(max(versions, key=lambda path: int(path.parent.name)).read_text(encoding="utf-8"))
    return list(dict.fromkeys(str(step["name"]) for step in plan["steps"]))
