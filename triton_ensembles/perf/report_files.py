"""The three files of a report."""

import csv
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from triton_ensembles.files import write_whole
from triton_ensembles.perf.report import Report, csv_rows

SUFFIXES = (".csv", ".json", ".png")


def write_report(report: Report, output: Path) -> None:
    """Write the three files of the report into the folder ``output``; each replaces its predecessor when complete."""
    from triton_ensembles.perf.plot import draw  # matplotlib takes a second to load

    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:  # all are written before the first takes its place
        table, facts, plot = (
            files.enter_context(write_whole(output / f"{report.name}{suffix}")) for suffix in SUFFIXES
        )
        with table.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(csv_rows(report))
        facts.write_text(json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(report, plot)
