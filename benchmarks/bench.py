"""How close the ensembles are to the limit, and how far ahead of what people would use instead.

    python -m benchmarks.bench                                      everything: about 25 minutes on two cores
    python -m benchmarks.bench --only short --contenders limit ours --rounds 1
    python -m benchmarks.bench --only short-32-c8 short-32-batch --contenders limit ours --rounds 9

Contenders (groups): limit (tokenizer, engine and pooling without a server), ours and http (the ensembles in
tritonserver, with perf_analyzer as the client over gRPC and HTTP), endpoint (behind the local endpoint), bf16 (the
ensembles with precision bf16), reference (an ensemble as AWS's example has it), peers (infinity-emb and FastAPI, which
python -m benchmarks.peers installs). All servers stay up. For one load after the other, every contender is measured;
all of that is one round. Client and servers share the cores: their processor time is in results.json.

Writes results.json into the output folder after every round; python -m benchmarks.page makes docs/performance.md of it.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.cells import Cell, Measurement
from benchmarks.contenders.contender import Contender
from benchmarks.contest import ENSEMBLES, GROUPS, Contest
from benchmarks.goals import verdicts
from benchmarks.loads import Load, direct, served
from benchmarks.results import Results, facts_of
from benchmarks.tables import goals_table, plain, throughput_tables
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import REPORTS
from triton_ensembles.processes import StopSignals
from triton_ensembles.progress import Progress

WARM_UP = 0.5  # seconds before each measurement that do not count
RESULTS = "results.json"


def bench(
    groups: Sequence[str], only: Sequence[str], rounds: int, seconds: float, output: Path, progress: Progress
) -> Results:
    """Measure, and write results.json after every round.

    Raises:
        EnsembleError: a required contender cannot be built, started or measured.
    """
    command = shlex.join(["python", "-m", "benchmarks.bench", *sys.argv[1:]])
    results = Results(facts_of(command) | {"rounds": rounds, "seconds": seconds, "warm_up": WARM_UP, "weights": {}})
    contents = [content for content in ENSEMBLES if any(name.partition("-")[0] == content for name in only)]
    with Contest(groups, contents, results, progress).started() as contenders:
        cells = schedule(contenders, only)
        for contender, load in cells:
            progress(f"warming up: {contender.name}: {load}")
            contender.warm_up(load)
        started = time.monotonic()
        for number in range(1, rounds + 1):
            for place, (contender, load) in enumerate(cells, start=1):
                cell = measured(contender, load, seconds * load.duration)
                results.measured.append(Measurement(number, contender.name, load, cell))
                passed = time.monotonic() - started
                progress(f"[{passed:5.0f} s, {number}.{place}/{len(cells)}] {described(contender, load, cell)}")
            results.write(output / RESULTS)
    return results


def schedule(contenders: Sequence[Contender], only: Sequence[str]) -> list[tuple[Contender, Load]]:
    """The cells of one round: by load, so that what is compared is measured within a short time."""
    cells = [(contender, load) for contender in contenders for load in contender.loads]
    chosen = [cell for cell in cells if cell[1].content in only or cell[1].name in only]
    return sorted(chosen, key=lambda cell: (list(ENSEMBLES).index(cell[1].content), cell[1]))


def measured(contender: Contender, load: Load, seconds: float) -> Cell:
    """One cell, measured again for longer when too little was answered in the time."""
    try:
        return contender.measure(load, seconds, WARM_UP)
    except EnsembleError:
        return contender.measure(load, 4 * seconds, WARM_UP)


def described(contender: Contender, load: Load, cell: Cell) -> str:
    cpu = ", ".join(f"{name} {value:.2f}" for name, value in cell.cpu.items() if value >= 0.005)
    return f"{contender.name}: {load}: {cell.throughput:.1f}/s, p50 {cell.latency_ms['p50']:.1f} ms; cores: {cpu}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (2); longer for several rows")
    loads = [load.name for content in ENSEMBLES for load in (*served(content), *direct(content))]
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*ENSEMBLES, *loads],
        metavar="LOAD",
        default=list(ENSEMBLES),
        help=f"of {' '.join(ENSEMBLES)}, or single ones such as short-32-c8 short-32-batch mix-32-sorted (all)",
    )
    parser.add_argument("--contenders", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups of them (all)")
    parser.add_argument("--output", type=Path, default=REPORTS / "bench", help="folder of the results (reports/bench)")
    options = parser.parse_args()
    try:
        with StopSignals():  # the servers are stopped on the way out
            progress = partial(print, flush=True)
            results = bench(options.contenders, options.only, options.rounds, options.seconds, options.output, progress)
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(f"stopped; the complete rounds are in {options.output / RESULTS}")
    for table in (*throughput_tables(results), goals_table(verdicts(results))):
        print(f"\n{plain(table)}")
    for name, reason in results.missing.items():
        print(f"!!! {name} did not take part: {reason} !!!")
    print(f"results: {options.output / RESULTS}")


if __name__ == "__main__":
    main()
