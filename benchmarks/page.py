"""docs/performance.md out of measurements: python -m benchmarks.page

Reads reports/bench/results.json (of python -m benchmarks.bench) and, if it exists, start.json beside it (of
python -m benchmarks.start): {"command", "tables": [{"title", "header", "rows", "note"}], "ratios": {name: number}}.
Fills the text of page.md, and writes the plots to docs/images/.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.goals import GOALS, start_verdicts, verdicts
from benchmarks.plots import write_plots
from benchmarks.results import Results, read_results
from benchmarks.tables import Table, goals_table, markdown, throughput_tables
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import write_whole
from triton_ensembles.paths import REPORTS, ROOT

PAGE = ROOT / "docs" / "performance.md"
TEMPLATE = Path(__file__).with_name("page.md")
_CONCLUSIONS = (
    "For 32 clients that send one short sentence each, bert_trt has {many_reference} times the throughput of the "
    "reference and {many_peer} times that of the best peer.",
    "With one sentence per request, bert_trt reaches {many_limit} of the limit, which is what the cores can compute "
    "without a server; with 32 per request it reaches {batch_limit} of it.",
    "For a single client that waits for each answer, bert_trt has {one_reference} times the throughput of the "
    "reference, {one_peer} times that of the best peer, and {one_limit} of the limit.",
    "Images reach {image_limit} of the limit with one per request, {images_limit} with eight.",
    "Precision bf16 gives {bf16_batch} times the throughput of fp32 for sentences and {bf16_images} times for images.",
    "The cold start of bert_trt, as `deploy` starts it, is {cold_start_deployed} times shorter than the reference's, "
    "and its archive without the weights {archive_without_weights} times smaller.",
)


def page(results: Results, start: Mapping[str, Any], plots: Mapping[str, str]) -> str:
    """The text of the page.

    Args:
        start: the content of start.json; empty when that was not measured.
        plots: captions of pictures in images/, by file name.
    """
    facts, ratios = results.facts, start.get("ratios", {})
    found = [*verdicts(results), *start_verdicts(ratios)]
    met = sum(each.met is True for each in found)
    contenders = [[name, "; ".join(dict.fromkeys(about.values()))] for name, about in results.contenders.items()]
    missing = (f"**{name}** did not take part: {reason}.\n\n" for name, reason in results.missing.items())
    tables = [markdown(Table(**table)) for table in start.get("tables", ())]
    heading = f"## Cold start, size, memory\n\nMeasured by `{start['command']}`.\n\n" if tables else ""
    return TEMPLATE.read_text(encoding="utf-8").format(
        conclusions=fill(" ".join([*conclusions(results, ratios), f"{met} of {len(found)} goals were met."]), 120),
        missing="".join(missing),
        goals=markdown(goals_table(found), level=2),
        throughput="\n".join(markdown(table) for table in throughput_tables(results)),
        plots="\n".join(f"![{caption}](images/{name})\n\n{caption}.\n" for name, caption in plots.items()),
        start=heading + "\n".join(tables),
        contenders=markdown(Table("Contenders", ["contender", "what it is"], contenders)),
        cores=markdown(_cores(results)).rstrip(),
        **facts
        | {key: ", ".join(f"{name} {value}" for name, value in facts[key].items()) for key in ("versions", "weights")},
    )


def conclusions(results: Results, start_ratios: Mapping[str, float]) -> list[str]:
    """The sentences whose numbers were all measured."""
    numbers = {name: f"{ratio:.0f}" for name, ratio in start_ratios.items()}
    for name, goal in GOALS.items():
        if ratio := goal.ratio(results):
            numbers[name] = f"{ratio.median:.2g}"
    sentences = []
    for sentence in _CONCLUSIONS:
        with suppress(KeyError):
            sentences.append(sentence.format_map(numbers))
    return sentences


def _cores(results: Results) -> Table:
    """Of the loads with the most requests of one row at once, where clients work hardest."""
    rows = []
    for load in results.loads():
        if load.rows > 1 or load.concurrency < 4 or load.concurrency == 8:
            continue
        for name in results.names(load):
            cells = list(results.cells(name, load).values())
            if "client" in cells[0].cpu:
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
            raise EnsembleError("the results of the benchmark do not exist", path=path, cure="make bench")
        results = read_results(path)
        start = options.reports / "start.json"
        started = json.loads(start.read_text(encoding="utf-8")) if start.is_file() else {}
        plots = write_plots(results, options.output.parent / "images", prefix="performance-")
        with write_whole(options.output) as partial:
            partial.write_text(page(results, started, plots), encoding="utf-8")
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(options.output)


if __name__ == "__main__":
    main()
