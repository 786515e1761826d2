"""The three files of a report: NAME.csv for programs, NAME.json for the circumstances, NAME.png for eyes."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict
from pathlib import Path

from triton_ensembles.perf.plot import draw
from triton_ensembles.perf.report import Report, csv_rows

SUFFIXES = (".csv", ".json", ".png")


def write_report(report: Report, output: Path) -> None:
    """Write the files beside their place first, so that they appear whole and together, or not at all."""
    partial = output / f".{report.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)  # left by a run that was killed
    partial.mkdir(parents=True)
    try:
        with (partial / f"{report.name}.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(csv_rows(report))
        text = json.dumps(asdict(report), indent=2, ensure_ascii=False)
        (partial / f"{report.name}.json").write_text(text + "\n", encoding="utf-8")
        draw(report, partial / f"{report.name}.png")
        for suffix in SUFFIXES:
            (partial / f"{report.name}{suffix}").replace(output / f"{report.name}{suffix}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)
