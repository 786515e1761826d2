"""The measurements of a sweep, for people and as CSV; and what all reports share: aligned tables, and three files."""

import csv
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from triton_ensembles.ground.files import write_whole
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.perf.steps import StepTimes

SUFFIXES = (".csv", ".json", ".png")


@dataclass(frozen=True)
class Point:
    """The measurements at one concurrency.

    Args:
        client: what clients see.
        seconds: the duration; longer than requested where requests took longer than the windows.
        requests: the number answered in the whole run of perf_analyzer, slightly more than in its windows.
        server_ms: the mean time of a request in the server, from its arrival at the ensemble to its answer.
        queue_ms: the part of it in the ensemble's own queue; None where the steps have queues instead.
        steps: in the order of the ensemble's config.
        command: perf_analyzer's command line.
    """

    client: ClientTimes
    seconds: float
    requests: int
    server_ms: float
    queue_ms: float | None
    steps: tuple[StepTimes, ...]
    command: tuple[str, ...]

    @property
    def rest_ms(self) -> float:
        """The mean latency outside all queues and steps (client, network, scheduler); 0 when steps overlap."""
        inside = sum((step.queue_ms or 0.0) + step.compute_ms for step in self.steps)
        return max(0.0, self.client.avg_ms - (self.queue_ms or 0.0) - inside)


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement, without which its numbers mean nothing.

    Args:
        name: of the ensemble.
        target: "cpu" or "fused", according to the repository's manifest; "unknown" without one.
        weights: "pretrained", "provided" or "random", likewise.
        date: UTC in ISO 8601.
        input: what was sent, in words.
        protocol: "grpc" or "http".
        batch: rows in a request.
        seconds: the requested duration of a measurement.
        machine: see :func:`triton_ensembles.measuring.perf.facts.machine`.
        versions: see :func:`triton_ensembles.measuring.perf.facts.versions`.
    """

    name: str
    target: str
    weights: str
    date: str
    input: str
    protocol: str
    batch: int
    seconds: float
    machine: dict[str, Any]
    versions: dict[str, str]


@dataclass(frozen=True)
class Report(Conditions):
    """The sweep of one ensemble, its points by increasing concurrency."""

    points: tuple[Point, ...]

    @property
    def steps(self) -> list[str]:
        """The names of the steps, in the order of the ensemble's config."""
        return [step.step for step in self.points[0].steps]


def csv_rows(report: Report) -> list[list[str]]:
    """The header and one row for each point: times in ms, throughput in inferences/s, batches in rows.

    A value that does not exist is empty.
    """
    header = ["concurrency", "throughput", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "avg_ms"]
    header += ["client_send_ms", "client_recv_ms", "server_ms", "queue_ms", "requests"]
    _, *columns = (field.name for field in fields(StepTimes))
    rows = [header + [f"{step}.{column}" for step in report.steps for column in columns]]
    for point in report.points:
        values = [*astuple(point.client), point.server_ms, point.queue_ms, point.requests]
        values += [value for step in point.steps for value in astuple(step)[1:]]
        rows.append([_cell(value) for value in values])
    return rows


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def tables(report: Report) -> str:
    """Two tables for a terminal: what clients see, and the mean time in every step."""
    client = [["concurrency", "inferences/s", "p50 ms", "p90 ms", "p95 ms", "p99 ms", "average ms"]]
    queue = ["queue"] if report.points[0].queue_ms is not None else []
    inside = [["concurrency", *queue, *report.steps]]
    for point in report.points:
        times = point.client
        latencies = (times.p50_ms, times.p90_ms, times.p95_ms, times.p99_ms, times.avg_ms)
        client.append([str(times.concurrency), f"{times.throughput:.1f}", *(f"{value:.1f}" for value in latencies)])
        own = [] if point.queue_ms is None else [f"{point.queue_ms:.1f}"]
        inside.append([str(times.concurrency), *own, *(_step_cell(step) for step in point.steps)])
    title = (
        "ms in the queue, and by step: ms in compute (rows per batch)"
        if queue
        else "by step: ms in queue + ms in compute (rows per batch)"
    )
    return f"{aligned(client)}\n\n{title}\n{aligned(inside)}"


def _step_cell(step: StepTimes) -> str:
    queue = "" if step.queue_ms is None else f"{step.queue_ms:.1f} + "
    return f"{queue}{step.compute_ms:.1f} ({step.batch:.1f})"


def aligned(rows: Sequence[Sequence[str]], *, first_is_text: bool = False, last_is_text: bool = False) -> str:
    """Rows of equal length, a line each, their cells to the right; those of a column of text to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if last_is_text:
        widths[-1] = 0
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        if first_is_text:
            cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_report(report: Report, output: Path, draw: Callable[[Report, Path], None]) -> None:
    """Write the three files into the folder ``output``; each replaces its predecessor when all are complete. ``draw``
    writes the plot to a path."""
    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        paths = (write_whole(output / f"{report.name}{suffix}") for suffix in SUFFIXES)
        table, facts, plot = map(files.enter_context, paths)
        with table.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(csv_rows(report))
        facts.write_text(json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(report, plot)
