"""The floor: what the same server and client need for an echo of the same bytes, plus the engine in one process."""

from benchmarks.contenders.contender import ECHO, ENGINE, ENGINE_ONE_THREAD
from benchmarks.loads import Load
from benchmarks.parts import BATCHES
from benchmarks.results import Rates, Results


def floor(results: Results, load: Load) -> Rates:
    """Rows per second that a server without any cost of its own would reach; empty when it was not measured.

    One request at a time: 1 / (the echo's latency + the engine's). Many: cores / (core-seconds of the echo, its client
    included, + core-seconds of the engine), where the engine runs in the largest batches on all cores.
    """
    batch = BATCHES.get(load)
    if batch is None:
        return {}
    echo = results.cells(ECHO, load)
    engine = results.cells(ENGINE if load.concurrency == 1 else ENGINE_ONE_THREAD, batch)
    rounds = [(number, echo[number], engine[number]) for number in echo if number in engine]
    if load.concurrency == 1:
        return {number: 1 / (1 / one.throughput + 1 / other.throughput) for number, one, other in rounds}
    cores = results.facts["machine"]["cores"]
    return {number: cores / (one.core_seconds + other.core_seconds) for number, one, other in rounds}
