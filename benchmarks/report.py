"""The report of a run: results.json for programs, table.md and plots for people."""

from __future__ import annotations

from pathlib import Path

from benchmarks.goals import verdicts
from benchmarks.plots import PLOTS
from benchmarks.results import Results
from benchmarks.tables import goals_table, markdown, throughput_tables


def write_report(results: Results, output: Path) -> None:
    """Each file appears whole or not at all."""
    results.write(output / "results.json")
    tables = [goals_table(verdicts(results)), *throughput_tables(results)]
    write_text(output / "table.md", "\n".join(markdown(table) for table in tables))
    write_plots(results, output)


def write_plots(results: Results, output: Path, prefix: str = "") -> list[str]:
    """PREFIXNAME.png for each plot that the results have something for; the names without the prefix."""
    output.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in PLOTS.items():
        figure = draw(results)
        if figure is not None:
            partial = output / f".{prefix}{name}.partial"
            figure.savefig(partial, format="png", dpi=110, metadata={"Software": None})
            partial.replace(output / f"{prefix}{name}.png")
            written.append(name)
    return written


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
