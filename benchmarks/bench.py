"""The ensembles compared with the floor, the limit, a reference and other servers of the same model.

    python -m benchmarks.bench                              everything: about half an hour on two cores
    python -m benchmarks.bench --only one many --rounds 9
    python -m benchmarks.bench --only images --contenders limit fused --rounds 1

Parts: one, many, batch (sentences) and images, each with all contenders of its loads; memory; cold.
In the first four, all servers stay up. For one load after the other, every contender is measured; all of that is one
round. Client and servers share the cores: their processor time is in the results.

Contenders (groups): limit (tokenizer, engine and pooling without a server), engine (that alone) and echo, which make
the floor, fused and drawn (the ensembles in tritonserver, with perf_analyzer as the client over gRPC), bf16 and int8
(fused), reference (an ensemble as AWS's example has it), peers (infinity-emb and FastAPI, which are installed into
.bench-peers/ the first time).

Prints the tables of docs/performance.md, and writes PART.json into the output folder.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks import cold, memory
from benchmarks.cells import Cell, Measurement
from benchmarks.contenders.contender import Contender
from benchmarks.contest import GROUPS, Contest
from benchmarks.loads import Load
from benchmarks.parts import PARTS, Part
from benchmarks.ratios import ratios_table
from benchmarks.results import Results, facts_of, joined
from benchmarks.tables import markdown
from benchmarks.throughput import throughput_table
from checkout import REPORTS
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import StopSignals
from triton_ensembles.ground.progress import Progress

WARM_UP = 0.5  # seconds before each measurement that do not count
LONGEST = 60.0  # seconds after which a measurement is not repeated for longer
OTHERS: Mapping[str, Callable[[Results, int, Progress], None]] = {"memory": memory.measure, "cold": cold.measure}
ALL_PARTS = (*PARTS, *OTHERS)


def bench(part: str, groups: Sequence[str], rounds: int, seconds: float, path: Path, progress: Progress) -> Results:
    """Measure a part, and write its results to ``path``; throughput after every round.

    Raises:
        EnsembleError: a required contender cannot be built, started or measured.
    """
    command = shlex.join(["python", "-m", "benchmarks.bench", "--only", part, "--rounds", str(rounds)])
    results = Results(facts_of(command) | {"rounds": rounds, "seconds": seconds, "warm_up": WARM_UP, "weights": {}})
    began = time.monotonic()
    if part in PARTS:
        for _ in measured_rounds(PARTS[part], groups, results, rounds, seconds, progress):
            results.write(path)
    else:
        OTHERS[part](results, rounds, progress)
    results.facts["minutes"] = round((time.monotonic() - began) / 60, 1)
    results.write(path)
    return results


def measured_rounds(
    part: Part, groups: Sequence[str], results: Results, rounds: int, seconds: float, progress: Progress
) -> Iterator[int]:
    """Yield the number of each round when its cells are in ``results``."""
    with Contest(part, groups, results, progress).started() as contenders:
        # By load, so that what is compared is measured within a short time.
        pairs = ((contender, load) for contender in contenders for load in contender.loads)
        cells = sorted(pairs, key=lambda pair: pair[1])
        for contender, load in cells:
            progress(f"warming up: {contender.name}: {load}")
            contender.warm_up(load)
        started = time.monotonic()
        for number in range(1, rounds + 1):
            for place, (contender, load) in enumerate(cells, start=1):
                cell = measured(contender, load, seconds * load.duration)
                results.measured.append(Measurement(number, contender.name, load, cell))
                passed = time.monotonic() - started
                rate = f"{contender.name}: {load}: {cell.throughput:.1f}/s, p50 {cell.p50_ms:.1f} ms"
                progress(f"[{passed:5.0f} s, {number}.{place}/{len(cells)}] {rate}")
            yield number


def measured(contender: Contender, load: Load, seconds: float) -> Cell:
    """Measure one cell, again for longer when too little was answered in the time."""
    while True:
        try:
            return contender.measure(load, seconds, WARM_UP)
        except EnsembleError:
            if seconds >= LONGEST:
                raise
            seconds *= 4


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each throughput (2); longer for several rows")
    parser.add_argument("--only", nargs="+", choices=ALL_PARTS, metavar="PART", default=ALL_PARTS, help="parts (all)")
    parser.add_argument("--contenders", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups of them (all)")
    parser.add_argument("--output", type=Path, default=REPORTS / "bench", help="folder of the results (reports/bench)")
    options = parser.parse_args()
    progress: Progress = partial(print, flush=True)
    parts: dict[str, Results] = {}
    try:
        with StopSignals():  # the servers are stopped on the way out
            for part in options.only:
                path = options.output / f"{part}.json"
                parts[part] = bench(part, options.contenders, options.rounds, options.seconds, path, progress)
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(f"stopped; complete rounds and parts are in {options.output}")
    whole = joined(parts.values())
    for table in (throughput_table(whole), ratios_table(whole), *whole.tables):
        if table.rows:
            print(f"\n{markdown(table)}")
    for name, cosine in whole.cosines.items():
        print(f"{name}: the lowest cosine to fp32 is {cosine:.6f}")
    for name, about in whole.contenders.items():
        print(f"{name}: {about}")
    for name, reason in whole.missing.items():
        print(f"!!! {name} did not take part: {reason} !!!")
    print(f"results: {options.output}")


if __name__ == "__main__":
    main()
