"""docs/performance.md out of measurements: python -m benchmarks.page

Reads PART.json of python -m benchmarks.bench from reports/bench/ and fills the text of page.md: all parts, or as many
as there are for another page (--output).
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from benchmarks.bench import ALL_PARTS
from benchmarks.conclusions import conclusions
from benchmarks.goals import goals_table, verdicts
from benchmarks.results import Results, joined, read_parts
from benchmarks.tables import Table, markdown
from benchmarks.throughput import throughput_tables
from checkout import REPORTS, ROOT
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import write_whole

PAGE = ROOT / "docs" / "performance.md"
TEMPLATE = Path(__file__).with_name("page.md")


def page(parts: Mapping[str, Results]) -> str:
    """The text of the page; at least one part was measured."""
    results = joined(parts.values())
    missing = (f"**{name}** did not take part: {reason}.\n\n" for name, reason in results.missing.items())
    contenders = [[name, about] for name, about in results.contenders.items()]
    return TEMPLATE.read_text(encoding="utf-8").format(
        conclusions=fill(conclusions(results), 120),
        missing="".join(missing),
        goals=markdown(goals_table(verdicts(results)), level=2),
        throughput="\n".join(markdown(table) for table in throughput_tables(parts)),
        others="\n".join(markdown(table) for table in results.tables),
        runs=markdown(_runs(parts)),
        contenders=markdown(Table("Contenders", ["contender", "what it is"], contenders)).rstrip(),
        machine=results.facts["machine"],
        **{
            key: ", ".join(f"{name} {value}" for name, value in results.facts[key].items())
            for key in ("versions", "weights")
        },
    )


def _runs(parts: Mapping[str, Results]) -> Table:
    rows = []
    for results in parts.values():
        facts = results.facts
        load = f"{facts['machine']['load_average_before']}"
        rows.append([f"`{facts['command']}`", f"{facts['date']:.10}", f"{facts['minutes']:g}", load])
    return Table("Runs", ["command", "date", "minutes", "load average before"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=Path, default=REPORTS / "bench", help="where PART.json is (reports/bench)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page (docs/performance.md)")
    options = parser.parse_args()
    try:
        parts = read_parts(options.reports, ALL_PARTS)
        if not parts:
            raise EnsembleError("the results of the benchmark do not exist", path=options.reports, cure="make bench")
        if options.output == PAGE and (lost := [part for part in ALL_PARTS if part not in parts]):
            message = f"{', '.join(lost)} not measured, so docs/performance.md would lose what it says of them"
            cure = "make bench, or --output FILE for a page of what there is"
            raise EnsembleError(message, path=options.reports, cure=cure)
        with write_whole(options.output) as partial:
            partial.write_text(page(parts), encoding="utf-8")
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(options.output)


if __name__ == "__main__":
    main()
