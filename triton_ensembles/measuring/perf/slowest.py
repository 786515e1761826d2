"""Where the slowest requests spent their time, from Triton's trace of every request (``--trace-config``).

At the level TIMESTAMPS Triton 2.51.0 writes, for each request to a model and, with the id of its parent, for each of
the steps that it ran, the nanoseconds of the monotonic clock at which it came, was queued, computed and answered. A
request takes from REQUEST_START to INFER_RESPONSE_COMPLETE, of a step the queue ends and the compute begins at
COMPUTE_START. The traces stay in the server's memory and are written when it ends (with log-frequency=10000, 2.51.0
stops answering under load), so that of very many requests only a part is traced. A sweep is measured without them.

A fused ensemble is one model for Triton. Its worker writes when it began a batch and how long each step took; a batch
is that of the requests in whose compute it began, so that with several instances a few are taken for each other.
"""

import json
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Self

import numpy as np

from triton_ensembles.measuring.perf.sweep_report import aligned

SHARE = 0.01  # of the requests are the slowest, at least one
_QUANTILES = (50, 90, 99)
_MOST_TRACES = 50_000


def trace_arguments(file: Path, requests: int) -> tuple[str, ...]:
    """Flags of a tritonserver that traces into ``file`` every request, or a part of them if there will be so many
    ``requests`` that they would fill the memory."""
    rate = max(1, round(requests / _MOST_TRACES))
    settings = (f"triton,file={file}", "mode=triton", f"rate={rate}", "count=-1", "level=TIMESTAMPS")
    return tuple(f"--trace-config={setting}" for setting in settings)


@dataclass(frozen=True)
class StepShare:
    """A step's part of the time of requests, in milliseconds.

    Args:
        quantiles_ms: of queue and compute, in all requests: p50, p90 and p99.
        queue_ms: mean in the slowest requests, as is compute_ms.
    """

    step: str
    quantiles_ms: tuple[float, ...]
    queue_ms: float
    compute_ms: float


@dataclass(frozen=True)
class Slowest:
    """The slowest of the requests at one concurrency.

    Args:
        requests: how many there were in all.
        slowest: how many of them are the slowest.
        least_ms: what the fastest of those took.
        mean_ms: what they took on average, in the server.
        steps: in the order in which they ran; of a model that is no ensemble, itself.
    """

    concurrency: int
    requests: int
    slowest: int
    least_ms: float
    mean_ms: float
    steps: tuple[StepShare, ...]

    @property
    def rest_ms(self) -> float:
        """Outside the steps, between them; 0 where they overlap."""
        return max(0.0, self.mean_ms - sum(step.queue_ms + step.compute_ms for step in self.steps))


@dataclass(frozen=True)
class Window:
    """The time in which requests of one concurrency were sent, in nanoseconds of the monotonic clock."""

    concurrency: int
    begin: int
    end: int


def slowest(file: Path, batches: Path, model: str, windows: Sequence[Window]) -> list[Slowest]:
    """The slowest requests to ``model`` in each window, from the ``file`` that Triton wrote until its end, and from the
    files about ``batches`` in that folder, which fused ensembles write."""
    batches_of_model = _Batches.read(batches, model)
    by_id = _by_id(json.loads(file.read_bytes()))
    children = defaultdict(list)
    for trace in by_id.values():
        children[trace.parent].append(trace)
    roots = [trace for trace in by_id.values() if trace.model == model and not trace.parent and trace.total_ns]
    results = []
    for window in windows:
        own = [trace for trace in roots if window.begin <= trace.times["REQUEST_START"] <= window.end]
        if own:
            own.sort(key=lambda trace: trace.total_ns)
            results.append(_slowest(window.concurrency, model, own, children, batches_of_model))
    return results


def table(results: Sequence[Slowest]) -> str:
    """A table for each concurrency, for a terminal."""
    texts = []
    for result in results:
        rows = [["step", *(f"p{number} ms" for number in _QUANTILES), "slowest: queue", "compute", "of the time"]]
        for step in result.steps:
            part = (step.queue_ms + step.compute_ms) / result.mean_ms
            own = [f"{step.queue_ms:.1f}", f"{step.compute_ms:.1f}", f"{part:.0%}"]
            rows.append([step.step, *(f"{value:.1f}" for value in step.quantiles_ms), *own])
        blanks = [""] * len(_QUANTILES)
        rows.append(["outside", *blanks, "", f"{result.rest_ms:.1f}", f"{result.rest_ms / result.mean_ms:.0%}"])
        count = f"{result.slowest:,} of {result.requests:,} requests"
        head = f"the slowest at concurrency {result.concurrency}: {count}, {result.least_ms:.1f} ms and more"
        texts.append(f"{head}, {result.mean_ms:.1f} ms on average\n{aligned(rows, first_is_text=True)}")
    return "\n\n".join(texts)


@dataclass
class _Trace:
    """One request to one model; ``times`` are nanoseconds by Triton's names of events."""

    id: int
    model: str = ""
    parent: int = 0
    times: dict[str, int] = field(default_factory=dict)

    @property
    def total_ns(self) -> int:
        """0 of a request that was not answered."""
        begin = self.times.get("REQUEST_START", 0)
        end = self.times.get("INFER_RESPONSE_COMPLETE") or self.times.get("REQUEST_END", 0)
        return max(0, end - begin) if begin else 0


@dataclass(frozen=True)
class _Batches:
    """The batches of a fused ensemble: when they began, and the nanoseconds of each step."""

    begins: Sequence[int]
    ns: Sequence[Mapping[str, int]]

    @classmethod
    def read(cls, folder: Path, model: str) -> Self:
        lines = (json.loads(line) for file in folder.iterdir() for line in file.read_text().splitlines())
        records = sorted(
            (line["begin"], number, line["ns"]) for number, line in enumerate(lines) if line["model"] == model
        )
        return cls([begin for begin, _, _ in records], [ns for _, _, ns in records])

    def spent(self, trace: _Trace) -> dict[str, tuple[float, float]]:
        """As :func:`_spent`, with the queue of the ensemble; empty if no batch began while the request was computed."""
        index = bisect_left(self.begins, trace.times.get("COMPUTE_START", math.inf))
        if index == len(self.begins) or self.begins[index] > trace.times["COMPUTE_END"]:
            return {}
        queue = (trace.times["COMPUTE_START"] - trace.times["QUEUE_START"]) / 1e6
        return {"queue": (queue, 0.0)} | {step: (0.0, ns / 1e6) for step, ns in self.ns[index].items()}


def _by_id(records: Sequence[Mapping[str, Any]]) -> dict[int, _Trace]:
    by_id: dict[int, _Trace] = {}
    for record in records:
        trace = by_id.setdefault(record["id"], _Trace(record["id"]))
        trace.model = record.get("model_name", trace.model)
        trace.parent = record.get("parent_id", trace.parent)
        trace.times |= {event["name"]: event["ns"] for event in record.get("timestamps", ())}
    return by_id


def _slowest(
    concurrency: int, model: str, roots: Sequence[_Trace], children: Mapping[int, Sequence[_Trace]], batches: _Batches
) -> Slowest:
    """``roots``: by increasing time."""
    spent = [batches.spent(root) or _spent(root, children) for root in roots]  # by step, ms in the queue and in compute
    names = dict.fromkeys(step for request in spent for step in request)
    count = max(1, round(len(roots) * SHARE))
    shares = []
    for step in names:
        queue, compute = np.array([request.get(step, (0.0, 0.0)) for request in spent]).T
        quantiles = tuple(float(value) for value in np.percentile(queue + compute, _QUANTILES))
        mean_queue, mean_compute = float(queue[-count:].mean()), float(compute[-count:].mean())
        shares.append(StepShare(step.removeprefix(f"{model}."), quantiles, mean_queue, mean_compute))
    totals = [root.total_ns / 1e6 for root in roots[-count:]]
    return Slowest(concurrency, len(roots), count, totals[0], fmean(totals), tuple(shares))


def _spent(root: _Trace, children: Mapping[int, Sequence[_Trace]]) -> dict[str, tuple[float, float]]:
    spent: dict[str, tuple[float, float]] = {}
    steps = list(_steps(root, children))
    nexts = [root.times["REQUEST_START"] + root.total_ns, *(trace.times["REQUEST_START"] for trace, _ in steps)]
    for trace, step in steps:
        times = trace.times
        # COMPUTE_END may come long after the answer, with which the next step begins.
        sent = times.get("COMPUTE_OUTPUT_START", times["COMPUTE_START"])
        end = min([times["COMPUTE_END"], *(begin for begin in nexts if begin >= sent)])
        queue, compute = spent.get(step, (0.0, 0.0))  # a model may be several steps
        queue += (times["COMPUTE_START"] - times["QUEUE_START"]) / 1e6
        spent[step] = queue, compute + (end - times["COMPUTE_START"]) / 1e6
    return spent


def _steps(trace: _Trace, children: Mapping[int, Sequence[_Trace]]) -> Iterator[tuple[_Trace, str]]:
    """The models that ran for ``trace``, without what those called, in the order of their starts."""
    if trace.times.keys() >= {"QUEUE_START", "COMPUTE_START", "COMPUTE_END"}:
        yield trace, trace.model
        return
    for child in sorted(children.get(trace.id, ()), key=lambda child: child.times.get("REQUEST_START", 0)):
        yield from _steps(child, children)
