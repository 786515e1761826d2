"""The part "gateway": the project's gateway, and a reference after AWS's older pattern (benchmarks/aws_gateway).

Both serve the same three models with the same weights, and get the same requests over HTTP. First each is started
alone, in turn: until it has answered a request for each model, which it does as the reference does, and then under a
short load, after which its memory is read. Then all are up, and for one model and number of connections after the other
each is measured, and the project's Triton without the gateway in front of it; all of that is one round. What the engine
alone computes is the bound of whatever is in front of it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.cells import Cell, Measurement, percentiles, rate, spread
from benchmarks.contenders.contender import AWS_GATEWAY, DIRECT, ENGINE, GATEWAY
from benchmarks.contenders.gateway import GatewayContender, Running
from benchmarks.gateway_contenders import gateway_contenders
from benchmarks.gateway_engines import Engines
from benchmarks.gateway_requests import MODELS, difference, results_of, target_of
from benchmarks.http_load import HttpTarget, run_load, run_load_until_answered
from benchmarks.loads import Load
from benchmarks.process_usage import Memory
from benchmarks.results import Results, ratio_of
from benchmarks.tables import Table
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress

CONNECTIONS = (1, 8, 32)
_SECONDS = 4.0
_READY_SECONDS = 180.0
_MIB = 2**20

Answers = Mapping[str, Sequence[Any]]
"""By model, the results for its requests."""


@dataclass(frozen=True)
class Start:
    """One start.

    Attributes:
        seconds: from the start of the entry point until each model has answered its requests.
        processor: of all processes until then, in seconds.
        memory: PSS of all processes after a short load.
        triton: of tritonserver and its stubs, which is a part of it.
    """

    seconds: float
    processor: float
    memory: Memory
    triton: Memory


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put cells, figures and tables into ``results``.

    Raises:
        EnsembleError: a gateway cannot be built or started, or the answers differ.
    """
    with gateway_contenders(results, progress) as (contenders, repositories):
        results.contenders |= {each.name: each.about for each in contenders}
        starts = start_each(contenders, rounds, _SECONDS, progress)
        results.measured += load_all(contenders, Engines(repositories), rounds, _SECONDS, progress)
    results.figures |= figures(starts)
    results.tables += [throughput_table(results), starts_table(starts)]


def start_each(
    contenders: Sequence[GatewayContender], rounds: int, seconds: float, progress: Progress
) -> dict[str, list[Start]]:
    """Start each alone, in turn. The answers of all must be those of the first one."""
    starts: dict[str, list[Start]] = {each.name: [] for each in contenders}
    answers: dict[str, Answers] = {}
    for number in range(1, rounds + 1):
        for contender in contenders:
            began = time.monotonic()
            with contender.start() as running:
                answers[contender.name] = _first_answers(contender, running)
                took, processor = time.monotonic() - began, running.processor_seconds()
                for model in MODELS:
                    run_load_until_answered(target_of(model, running.port), 8, seconds / 2, 0)
                starts[contender.name].append(Start(took, processor, *running.memory()))
            _refuse_differences(answers[contenders[0].name], answers[contender.name], contender)
            progress(f"round {number} of {rounds}: {contender.name} answered for all models after {took:.1f} s")
    return starts


def load_all(
    contenders: Sequence[GatewayContender], engines: Engines, rounds: int, seconds: float, progress: Progress
) -> Iterator[Measurement]:
    """Start all, and measure each under every load in every round. Their answers are compared as well."""
    with ExitStack() as stack:
        together = {each.name: stack.enter_context(each.start()) for each in contenders}
        answers = [_first_answers(each, together[each.name]) for each in contenders]
        for contender, found in zip(contenders, answers, strict=True):
            _refuse_differences(answers[0], found, contender)
        for number in range(1, rounds + 1):
            for name, load, cell in _round(contenders, together, engines, seconds):
                yield Measurement(number, name, load, cell)
                progress(f"round {number} of {rounds}: {name}: {load}: {cell.throughput:.1f}/s")


def _first_answers(contender: GatewayContender, running: Running) -> Answers:
    """Ask until each model has answered all of its requests."""
    end = time.monotonic() + _READY_SECONDS
    found: dict[str, list[Any]] = {}
    for model in MODELS:
        while model not in found:
            try:
                found[model] = results_of(model, running.port)
            except (OSError, RuntimeError, EOFError, StopIteration) as error:
                if time.monotonic() > end:
                    raise EnsembleError(f"{contender.name} does not answer for {model}: {error}") from error
                time.sleep(0.05)
    return found


def _refuse_differences(reference: Answers, found: Answers, contender: GatewayContender) -> None:
    for model, expected in reference.items():
        for theirs, ours in zip(expected, found[model], strict=True):
            if differs := difference(ours, theirs, contender.tolerance):
                raise EnsembleError(f"{contender.name} and the reference answer differently for {model}: {differs}")


def _round(
    contenders: Sequence[GatewayContender], running: Mapping[str, Running], engines: Engines, seconds: float
) -> Iterator[tuple[str, Load, Cell]]:
    for model in MODELS:
        rates: dict[str, float] = {}
        for connections in CONNECTIONS:
            for contender in (each for each in contenders if model in each.models):
                for name, target in _targets(contender.name, running[contender.name], model):
                    cell = _measured(running[contender.name], target, model, connections, seconds, rates.get(name))
                    rates[name] = cell.throughput
                    yield name, Load(model, 1, connections), cell
        for rows, cell in engines.cells(model, seconds / 2):
            yield ENGINE, Load(model, rows, 0), cell


def _targets(name: str, running: Running, model: str) -> Iterator[tuple[str, HttpTarget]]:
    """What is measured of a contender: itself, and of the project's as it is in git also the Triton behind it."""
    yield name, target_of(model, running.port)
    if name == GATEWAY and running.direct:
        yield DIRECT, running.direct(model)


def _measured(
    running: Running, target: HttpTarget, model: str, connections: int, seconds: float, rate_before: float | None
) -> Cell:
    """Warmed up until about as many requests are answered as there are connections, and for twice that at least.

    Args:
        rate_before: requests per second with fewer connections.
    """
    turn = connections / rate_before if rate_before else 0.0
    warm_up, seconds = max(seconds / 4, turn), max(seconds, 2 * turn)
    while True:
        before = running.processor_seconds()
        answers = run_load(target, connections, seconds, warm_up)
        each = (running.processor_seconds() - before) / answers.total
        if len(set(answers.finished)) >= 4:
            throughput = rate(answers.finished, range(len(answers.finished)))
            return Cell(throughput, percentiles(answers.latencies), {"server": each * throughput})
        seconds *= 2
        if seconds > 4 * _READY_SECONDS:
            raise EnsembleError(f"{model} answers too slowly to be measured")


def figures(starts: Mapping[str, Sequence[Start]]) -> dict[str, float]:
    """Ratios of the rounds' memory and times, each round compared with itself; none without the reference."""
    if not starts.keys() >= {GATEWAY, AWS_GATEWAY}:
        return {}
    pairs = list(zip(starts[GATEWAY], starts[AWS_GATEWAY], strict=True))
    return {
        "gateway_memory": median(ours.memory.pss / theirs.memory.pss for ours, theirs in pairs),
        "gateway_memory_reach": median(theirs.triton.pss / theirs.memory.pss for _, theirs in pairs),
        "gateway_start": median(ours.seconds / theirs.seconds for ours, theirs in pairs),
    }


def starts_table(starts: Mapping[str, Sequence[Start]]) -> Table:
    rows = []
    for name, found in starts.items():
        memory = [
            [each.memory.pss for each in found],
            [each.memory.anonymous for each in found],
            [each.triton.pss for each in found],
            [each.memory.pss - each.triton.pss for each in found],
        ]
        seconds = spread([each.seconds for each in found], 1)
        processor = f"{median(each.processor for each in found):.1f}"
        rows.append([name, seconds, processor, *(f"{median(each) / _MIB:.0f}" for each in memory)])
    note = (
        "The start is that of everything in the container, until each model has answered; files are in the page cache. "
        "PSS of all processes, after a short load for each model. Triton is tritonserver with its models, which in the "
        "project's gateway have the pre- and post-processing in them."
    )
    header = [
        "",
        "first answers, s",
        "processor time, s",
        "PSS, MiB",
        "anonymous, MiB",
        "of the PSS: Triton, MiB",
        "the rest, MiB",
    ]
    return Table("Gateways: start and memory", header, rows, note)


def throughput_table(results: Results) -> Table:
    rows = []
    for model, unit in MODELS.items():
        for load in (Load(model, 1, each) for each in CONNECTIONS):
            for name in results.names(load):
                cells = [*results.cells(name, load).values()]
                ratio = ratio_of(results.rates(name, load), results.rates(AWS_GATEWAY, load))
                rows.append(
                    [
                        f"{model}, {load.concurrency}",
                        name,
                        f"{spread([cell.throughput for cell in cells], 1)} {unit}",
                        f"{median(cell.latency_ms['p99'] for cell in cells):.0f}",
                        f"{median(cell.core_seconds for cell in cells) * 1e3:.0f}",
                        str(ratio) if name != AWS_GATEWAY else "",
                    ]
                )
        rows += [
            [
                f"{model}, batches of {load.rows}",
                name,
                f"{spread([cell.throughput for cell in cells], 1)} {unit}",
                "",
                f"{median(cell.core_seconds for cell in cells) * 1e3:.0f}",
                "",
            ]
            for load in results.loads()
            if load.content == model and not load.concurrency
            for name in results.names(load)
            if (cells := [*results.cells(name, load).values()])
        ]
    header = ["model, connections", "", "per second", "p99, ms", "core-ms each", "times the reference"]
    note = (
        "Core-ms are the processor time of all processes of a gateway, without the client, for each request. The "
        "engine is the project's, called in a loop in one process; what is in front of it cannot make it faster."
    )
    return Table("Gateways: throughput", header, rows, note)
