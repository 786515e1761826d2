"""docs/performance.md out of measurements: python -m benchmarks.page

Reads reports/bench/results.json (of python -m benchmarks.bench) and, where it is, start.json beside it (of
python -m benchmarks.start): {"tables": [{"title", "header", "rows", "note"}], "ratios": {name: number}, "command"}.
Includes benchmarks/tuning.md as it stands, and writes the plots to docs/images/.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.goals import start_verdicts, verdicts
from benchmarks.report import write_plots, write_text
from benchmarks.results import Results, read_results
from benchmarks.tables import Table, goals_table, markdown, throughput_tables
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import REPORTS, ROOT

TUNING = Path(__file__).with_name("tuning.md")
PAGE = ROOT / "docs" / "performance.md"
_CAPTIONS = {
    "throughput": "Short sentences a second, one a request, by concurrency; dashed and dotted: the limit",
    "latency": "Latency percentiles of the same requests, by concurrency",
    "steps": "Where a request's time goes, by step",
}
_INTRODUCTION = """\
# Performance

<!-- Made by `python -m benchmarks.page` from a run of `python -m benchmarks.bench`: change those instead. -->

How close the ensembles are to the limit of the machine, and how far ahead of what people would use instead. The limit
is the same tokenizer, engine and pooling (for images DALI and the engine) called directly in one process, without a
server: one process with all cores, or one with a single thread for each core, whichever has the better median. Every
ratio is one of measurements a few moments apart in the same run: the median of the rounds, with the least and the most.
"""
_METHOD = """\
## How it was measured

- All contenders run in processes of their own and stay up; they are idle when it is not their turn. One load after the
  other, each contender is measured in turn, and all of that once a round.
- Client and server share the cores. perf_analyzer (C++) drives tritonserver; plain sockets of a Python process drive
  what speaks JSON, and InvokeEndpoint. The last table has the processor time that they took.
- Texts are real English: words of perf's sentences, cut and joined to exact token counts ([CLS] and [SEP] included):
  short 10 to 16, long 128, mix 8 to 128 with each length equally often; 320 different ones of each. Images are two
  photographs as square JPEGs of 299, 640, 1280 and 3000 pixels a side; in a request of eight, one of 1280 is repeated.
- Throughput is the slope of the line through the answers (rows over time), after a warm-up, so that answers in bursts
  do not round it. Latencies of tritonserver are perf_analyzer's, and include its first moments.
- Peers get the same weights and requests. Each one's vectors are compared with ours before it is measured.
"""


def page(results: Results, start: Mapping[str, Any], tuning: str, plots: Sequence[str]) -> str:
    """The text of the page.

    Args:
        start: the content of start.json; empty when that was not measured.
        plots: names of pictures in images/.
    """
    pictures = "\n".join(
        f"![{_CAPTIONS[name]}](images/performance-{name}.png)\n\n{_CAPTIONS[name]}.\n" for name in plots
    )
    parts = [
        _INTRODUCTION,
        _circumstances(results),
        markdown(goals_table([*verdicts(results), *start_verdicts(start.get("ratios", {}))]), level=2),
        _agreement(results),
        *([f"## Missing\n\n{_listed(results.missing)}"] if results.missing else []),
        "## Throughput\n",
        *(markdown(table) for table in throughput_tables(results)),
        pictures,
        *_start(start),
        f"## Tuning\n\nWhat was expected, what happened, and what was kept.\n\n{tuning}",
        _METHOD,
        _contenders(results),
        markdown(_processor_time(results)),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def _circumstances(results: Results) -> str:
    facts = results.facts
    machine = facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    weights = ", ".join(f"{name} {kind}" for name, kind in facts["weights"].items())
    return (
        f"Measured {facts['date'][:10]} on {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gib']} GiB, {machine['system']}; load average before {machine['load_average_before']}. "
        f"{versions}. Weights: {weights}.\n\n"
        f"    {facts['command']}\n\n"
        f"{facts['rounds']} rounds, {facts['seconds']:g} s a measurement.\n"
    )


def _agreement(results: Results) -> str:
    lines = [f"bf16 against fp32, {name}: {_pairs(measured)}." for name, measured in results.agreement.items()]
    return "\n".join(lines)


def _pairs(measured: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in measured.items())


def _start(start: Mapping[str, Any]) -> list[str]:
    tables = [markdown(Table.from_json(table)) for table in start.get("tables", ())]
    return [f"## Start, memory, size\n\n    {start['command']}\n", *tables] if tables else []


def _contenders(results: Results) -> str:
    lines = [f"- {name}: {'; '.join(dict.fromkeys(about.values()))}" for name, about in results.contenders.items()]
    return "## Contenders\n\n" + "\n".join(lines) + "\n"


def _listed(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"- **{name}** did not take part: {reason}" for name, reason in reasons.items()) + "\n"


def _processor_time(results: Results) -> Table:
    """Of what was measured with the most requests of one row at once, where clients work hardest."""
    rows = []
    for load in results.loads():
        if load.rows > 1 or load.concurrency < 4 or load.concurrency == 8:
            continue
        for name in results.names(load):
            cells = list(results.cells(name, load).values())
            if load.concurrency and "client" in cells[0].cpu:
                client = sum(cell.cpu["client"] for cell in cells) / len(cells)
                others = sum(sum(cell.cpu.values()) - cell.cpu["client"] for cell in cells) / len(cells)
                rows.append([str(load), name, f"{client:.2f}", f"{others:.2f}"])
    return Table("Cores in use, on average", ["load", "contender", "client", "server and steps"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=Path, default=REPORTS / "bench", help="where results.json is (reports/bench)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page (docs/performance.md)")
    options = parser.parse_args()
    path = options.reports / "results.json"
    try:
        if not path.is_file():
            raise EnsembleError("there are no results", path=path, cure="make bench")
        results = read_results(path)
        start = options.reports / "start.json"
        started = json.loads(start.read_text(encoding="utf-8")) if start.is_file() else {}
        images = options.output.parent / "images"
        plots = write_plots(results, images, prefix="performance-")
        write_text(options.output, page(results, started, TUNING.read_text(encoding="utf-8"), plots))
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(options.output)


if __name__ == "__main__":
    main()
