"""The time of every step, from Triton's statistics extension (``GET /v2/models/STEP/stats``).

For every model Triton counts, since it was loaded, the nanoseconds that requests spent in the queue, in compute input
(gathering tensors), compute infer (the backend) and compute output, each summed over the requests: a batch of eight
that ran 10 ms adds 80 ms for eight requests. The counters are read before and after a point of the sweep, and

    average time of a request = difference of the nanoseconds / difference of success.count
    average batch             = difference of inference_count (rows) / difference of execution_count

The difference covers every request of the run, while perf_analyzer's own figures cover its measurement windows. For a
steady load they agree: within 1 % of what perf_analyzer prints for the composing models at concurrency 4;
tests/measuring/perf/test_steps.py compares them on 200 requests.

The steps of a fused ensemble are no models for Triton: fused_steps.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tritonclient.http as http

_PHASES = ("success", "queue", "compute_input", "compute_infer", "compute_output")


@dataclass(frozen=True)
class Counters:
    """Triton's counters of one model, summed over its versions.

    Args:
        requests: answered successfully.
        failures: requests answered with an error.
        rows: inferences.
        executions: runs of the backend.
        ns: nanoseconds by phase; "success" is the whole request. A step of a fused ensemble has compute_infer only.
    """

    requests: int
    failures: int
    rows: int
    executions: int
    ns: Mapping[str, int]

    def __sub__(self, earlier: Counters) -> Counters:
        return Counters(
            self.requests - earlier.requests,
            self.failures - earlier.failures,
            self.rows - earlier.rows,
            self.executions - earlier.executions,
            {phase: ns - earlier.ns[phase] for phase, ns in self.ns.items()},
        )

    def average_ms(self, phase: str) -> float:
        """The mean time of a request in this phase; 0 without requests."""
        return self.ns[phase] / self.requests / 1e6 if self.requests else 0.0


@dataclass(frozen=True)
class StepTimes:
    """The mean time of a request in one step, in milliseconds.

    Args:
        step: the name of the step, without the ensemble's.
        queue_ms: waiting for an instance or for a batch; None in a fused ensemble, whose steps have no queue.
        compute_input_ms: gathering the input tensors; None in a fused ensemble, as is compute_output_ms.
        compute_infer_ms: in the backend; in a fused ensemble the whole time in the step.
        compute_output_ms: distributing the output tensors.
        batch: mean rows per execution; more than the rows of a request when dynamic batching works.
        executions: runs of the backend.
    """

    step: str
    queue_ms: float | None
    compute_input_ms: float | None
    compute_infer_ms: float
    compute_output_ms: float | None
    batch: float
    executions: int

    @property
    def compute_ms(self) -> float:
        """The sum of the compute phases."""
        return (self.compute_input_ms or 0.0) + self.compute_infer_ms + (self.compute_output_ms or 0.0)


def composing_models(client: http.InferenceServerClient, name: str) -> list[str]:
    """The models of the steps of ``name`` in the order of its config, including those of ensembles among its steps.

    A model that is not an ensemble is its own only step.
    """
    models: dict[str, None] = {}

    def visit(model: str) -> None:
        scheduling = client.get_model_config(model).get("ensemble_scheduling")
        if scheduling is None:
            models.setdefault(model)
            return
        for step in scheduling["step"]:
            visit(step["model_name"])

    visit(name)
    return list(models)


def read_counters(client: http.InferenceServerClient, model: str) -> Counters:
    """The present counters of ``model``, summed over its versions."""
    versions = client.get_inference_statistics(model)["model_stats"]
    stats = [version["inference_stats"] for version in versions]
    return Counters(
        requests=sum(int(stat["success"]["count"]) for stat in stats),
        failures=sum(int(stat["fail"]["count"]) for stat in stats),
        rows=sum(int(version.get("inference_count", 0)) for version in versions),
        executions=sum(int(version.get("execution_count", 0)) for version in versions),
        ns={phase: sum(int(stat[phase]["ns"]) for stat in stats) for phase in _PHASES},
    )


def step_times(ensemble: str, model: str, spent: Counters) -> StepTimes:
    """The times of a step from ``spent``, a difference of counters. Its name loses the prefix that the build added."""
    queue, gathering, distributing = (
        spent.average_ms(phase) if phase in spent.ns else None for phase in ("queue", "compute_input", "compute_output")
    )
    return StepTimes(
        step=model.removeprefix(f"{ensemble}."),
        queue_ms=queue,
        compute_input_ms=gathering,
        compute_infer_ms=spent.average_ms("compute_infer"),
        compute_output_ms=distributing,
        batch=spent.rows / spent.executions if spent.executions else 0.0,
        executions=spent.executions,
    )
