"""The faults of a run, in words, and its figures."""

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.soak.traffic import Traffic
from benchmarks.soak.watch import ROLES, Sample

SLOWEST_CALL = 0.3  # seconds: the control plane, the status page and /metrics
_ERROR = 0.01  # of the budget: what a model takes more than the last time is only known afterwards
LEAST_ERROR = 3 << 20  # bytes: with a budget for a few models, a hundredth of it is less than one of them may vary by
_SETTLED = 0.25  # of the run: by then every popular model has been loaded, and its metrics have their series
_FEWEST = 12  # looks after that: with fewer, growth cannot be told from chance
_GROWTH = 0.1  # of memory
_SLACK = 32 << 20  # bytes that memory may move up and down, whatever its size
_COUNTS = ("files", "threads", "processes")
_MORE = 8  # open files or threads: connections and pools come and go


def faults(traffic: Traffic, samples: Sequence[Sample], budget: int, requests: int) -> Iterator[str]:
    """A sentence for each fault; none for a run that is as it should be."""
    if traffic.answered != requests:
        yield f"{requests - traffic.answered} of {requests} requests have no answer"
    for why, count in traffic.failures.most_common():
        yield f"{count} requests failed: {why}"
    if traffic.wrong:
        yield f"{traffic.wrong} answers are those of another model"
    if len({sample.server for sample in samples}) > 1:
        yield "tritonserver ended, and was started again"
    most = max(sample.container for sample in samples)
    if most > budget + max(budget * _ERROR, LEAST_ERROR):
        yield f"over the memory budget by up to {(most - budget) / 2**20:.1f} MiB"
    yield from _growth(samples)
    for name in samples[0].calls:
        if (usual := statistics.median(sample.calls[name] for sample in samples)) > SLOWEST_CALL:
            yield f"{name} took {usual:.2f} s, and {SLOWEST_CALL} s is the most"


def _growth(samples: Sequence[Sample]) -> Iterator[str]:
    """Growth from the end of the first quarter of the run to its end."""
    settled = samples[int(len(samples) * _SETTLED) :]
    if len(settled) < _FEWEST:
        return
    for role in ROLES:
        first, last = _trend(settled, [sample.resident[role] for sample in settled])
        if last > first * (1 + _GROWTH) + _SLACK:
            yield f"the memory of {role} grew from {first / 2**20:.0f} to {last / 2**20:.0f} MiB"
        for kind in _COUNTS:
            if (kind, role) == ("processes", "stubs"):
                continue  # there are as many as models are loaded
            first, last = _trend(settled, [getattr(sample, kind)[role] for sample in settled])
            if last > first + _MORE:
                yield f"the {kind} of {role} grew from {first:.0f} to {last:.0f}"


def _trend(samples: Sequence[Sample], values: Sequence[float]) -> tuple[float, float]:
    """The values at the first look and at the last, had always as many models been loaded.

    By least squares: an amount for each loaded model, which tritonserver has some thirty threads for, and an amount for
    every second.
    """
    loaded = np.array([sample.processes["stubs"] for sample in samples], dtype=float)
    passed = np.array([sample.seconds for sample in samples])
    columns = np.column_stack([np.ones(len(values)), loaded - loaded.mean(), passed - passed.mean()])
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-9)
    level, _, slope = np.linalg.lstsq(columns / scale, np.array(values, dtype=float), rcond=1e-6)[0] / scale
    return float(level + slope * (passed[0] - passed.mean())), float(level + slope * (passed[-1] - passed.mean()))


def figures(traffic: Traffic, samples: Sequence[Sample], budget: int, seconds: float) -> Iterator[str]:
    """Lines for people."""
    percentiles = np.percentile(traffic.latencies or [0.0], (50, 95, 99)) * 1000
    latency = ", ".join(f"p{share} {value:.0f} ms" for share, value in zip((50, 95, 99), percentiles, strict=True))
    yield f"{traffic.answered} answers in {seconds:.0f} s ({traffic.answered / seconds:.1f}/s), {latency}"
    yield f"{len(traffic.models)} models called; ModelNotReadyException, tried again: {traffic.not_ready}"
    most = max(sample.container for sample in samples)
    yield f"container: at most {most / 2**20:.0f} MiB of a budget of {budget / 2**20:.0f} MiB ({most / budget:.1%})"
    for role in ROLES:
        first, last = samples[len(samples) // 4], samples[-1]
        counts = (f"{kind} {getattr(first, kind)[role]} -> {getattr(last, kind)[role]}" for kind in _COUNTS)
        memory = f"{first.resident[role] / 2**20:.0f} -> {last.resident[role] / 2**20:.0f} MiB"
        yield f"{role:13} memory {memory}, {', '.join(counts)}"
    for name in samples[0].calls:
        times = [sample.calls[name] for sample in samples]
        yield f"{name:17} median {1000 * statistics.median(times):.0f} ms, longest {1000 * max(times):.0f} ms"
