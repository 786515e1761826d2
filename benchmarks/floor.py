"""The floor: what the same server and client need for an echo of the same bytes, plus the engine in one process."""

from benchmarks.contenders.contender import ECHO, ENGINE, ENGINE_EACH_CORE, ENGINE_ONE_THREAD
from benchmarks.loads import Load
from benchmarks.parts import BATCHES
from benchmarks.results import Rates, Results


def floor(results: Results, load: Load) -> Rates:
    """Rows per second that a server would reach in which nothing but the engine takes time; empty if not measured.

    One request at a time: 1 / (the echo's latency + the engine's). Many: cores / (core-seconds of the echo, its client
    included, + core-seconds of the engine, which runs in batches on all cores).
    """
    batch = BATCHES[load]
    if load.concurrency == 1:
        echoes, engines = results.rates(ECHO, load), results.best([ENGINE, ENGINE_ONE_THREAD], batch)
        return {number: 1 / (1 / echoes[number] + 1 / engines[number]) for number in echoes if number in engines}
    cores = results.facts["machine"]["cores"]
    echo, engine = results.cells(ECHO, load), results.cells(ENGINE_EACH_CORE, batch)
    spent = {number: echo[number].core_seconds + engine[number].core_seconds for number in echo if number in engine}
    return {number: cores / seconds for number, seconds in spent.items()}
