"""What is wrong with a run, in words; and its figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.soak.traffic import Traffic
from benchmarks.soak.watch import ROLES, Sample

SLOWEST_CALL = 0.3  # seconds: the control plane, the status page and /metrics
_ERROR = 0.01  # of the budget: what a model takes more than the last time is only known afterwards
_LEAST_ERROR = 3 << 20  # bytes: with a budget for a few models, a hundredth of it is less than one of them may vary by
_SETTLED = 0.25  # of the run: by then every popular model has been loaded, and its metrics have their series
_FEWEST = 12  # looks after that: with fewer, growth cannot be told from chance
_GROWTH = 0.1  # of memory
_SLACK = 32 << 20  # bytes that memory may move up and down, whatever its size
_MORE = 8  # open files or threads: connections and pools come and go


def faults(traffic: Traffic, samples: Sequence[Sample], budget: int, requests: int) -> Iterator[str]:
    """Each as a sentence; none for a run that is as it should be."""
    if traffic.answered != requests:
        yield f"{requests - traffic.answered} of {requests} requests have no answer"
    for why, count in traffic.failures.most_common():
        yield f"{count} requests failed: {why}"
    if traffic.wrong:
        yield f"{traffic.wrong} answers are those of another model"
    if len({each.server for each in samples}) > 1:
        yield "tritonserver ended, and was started again"
    allowed = budget + max(budget * _ERROR, _LEAST_ERROR)
    if over := [each for each in samples if each.container > allowed]:
        most = max(each.container for each in over) - budget
        yield f"over the memory budget in {len(over)} of {len(samples)} looks, by up to {most / 2**20:.1f} MiB"
    yield from _growth(samples)
    for name in samples[0].calls:
        if (usual := statistics.median(each.calls[name] for each in samples)) > SLOWEST_CALL:
            yield f"{name} took {usual:.2f} s, and {SLOWEST_CALL} s is the most"


def _growth(samples: Sequence[Sample]) -> Iterator[str]:
    """From the end of the first quarter of the run to its end."""
    settled = samples[int(len(samples) * _SETTLED) :]
    if len(settled) < _FEWEST:
        return
    for role in ROLES:
        first, last = _grown(settled, [each.resident[role] for each in settled])
        if last > first * (1 + _GROWTH) + _SLACK:
            yield f"the memory of {role} grew from {first / 2**20:.0f} to {last / 2**20:.0f} MiB"
        for what in ("files", "threads", "processes"):
            if (what, role) == ("processes", "stubs"):
                continue  # there are as many as models are loaded
            first, last = _grown(settled, [getattr(each, what)[role] for each in settled])
            if last > first + _MORE:
                yield f"the {what} of {role} grew from {first:.0f} to {last:.0f}"


def _grown(samples: Sequence[Sample], values: Sequence[float]) -> tuple[float, float]:
    """How much there would have been at the first look and at the last, had always as many models been loaded.

    By least squares: so much for each loaded model, which tritonserver has some thirty threads for, and so much more
    every second.
    """
    loaded, passed = (
        np.array(column, dtype=float)
        for column in zip(*((each.processes["stubs"], each.seconds) for each in samples), strict=True)
    )
    columns = np.column_stack([np.ones(len(values)), loaded - loaded.mean(), passed - passed.mean()])
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-9)
    level, _, slope = np.linalg.lstsq(columns / scale, np.array(values, dtype=float), rcond=1e-6)[0] / scale
    return float(level + slope * (passed[0] - passed.mean())), float(level + slope * (passed[-1] - passed.mean()))


def figures(traffic: Traffic, samples: Sequence[Sample], budget: int, seconds: float) -> Iterator[str]:
    """Lines for people."""
    times = sorted(traffic.latencies)
    at = {share: times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.95, 0.99)} if times else {}
    shown = ", ".join(f"p{100 * share:.0f} {1000 * value:.0f} ms" for share, value in at.items())
    yield f"{traffic.answered} answers in {seconds:.0f} s ({traffic.answered / seconds:.1f}/s), {shown}"
    yield f"{len(traffic.asked)} models asked; ModelNotReadyException, tried again: {traffic.not_ready}"
    most = max(each.container for each in samples)
    yield f"container: at most {most / 2**20:.0f} MiB of a budget of {budget / 2**20:.0f} MiB ({most / budget:.1%})"
    for role in ROLES:
        first, last = samples[len(samples) // 4], samples[-1]
        yield (
            f"{role:13} memory {first.resident[role] / 2**20:.0f} -> {last.resident[role] / 2**20:.0f} MiB, "
            f"files {first.files[role]} -> {last.files[role]}, threads {first.threads[role]} -> {last.threads[role]}, "
            f"processes {first.processes[role]} -> {last.processes[role]}"
        )
    for name in samples[0].calls:
        taken = sorted(each.calls[name] for each in samples)
        slow = sum(value > SLOWEST_CALL for value in taken)
        yield (
            f"{name:17} median {1000 * statistics.median(taken):.0f} ms, longest {1000 * taken[-1]:.0f} ms; "
            f"over {SLOWEST_CALL} s: {slow} of {len(taken)}"
        )
