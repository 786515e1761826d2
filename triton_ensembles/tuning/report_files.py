"""The three files of a search."""

import csv
import json
from contextlib import ExitStack
from pathlib import Path

from triton_ensembles.files import write_whole
from triton_ensembles.tuning.report import TuningReport, csv_rows

SUFFIXES = (".csv", ".json", ".png")


def write_report(report: TuningReport, output: Path) -> list[Path]:
    """Write NAME.csv, NAME.json and NAME.png into the folder ``output``; each replaces its predecessor when whole."""
    from triton_ensembles.tuning.plot import draw  # matplotlib takes a second to load

    output.mkdir(parents=True, exist_ok=True)
    paths = [output / f"{report.name}{suffix}" for suffix in SUFFIXES]
    with ExitStack() as files:  # all are written before the first takes its place
        table, facts, plot = (files.enter_context(write_whole(path)) for path in paths)
        with table.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(csv_rows(report))
        facts.write_text(json.dumps(report.document(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(report, plot)
    return paths
