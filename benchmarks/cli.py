"""The part "cli": what --help and check take, beside ruff's --help and that of a small program of click.

Each command runs in a process of its own, with its modules compiled, as pip leaves them, and its files in the page
cache. None of them waits for anything, so that on an idle machine the time is the processor time, which other programs
on the machine hardly change: the goals are about that.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.results import Results
from benchmarks.tables import Table
from checkout import PLACES, ROOT
from triton_ensembles.check.examples import IDENTITY, python_model
from triton_ensembles.progress import Progress

_CLICK = "--help of a program of click with one command"
_RUFF = "--help of ruff, a program in Rust"
_HELP = "--help"
_ONE = "check of bert_trt"
_MANY = "check of a repository of 1,000 Python models"
_MODELS = 1000
_PROGRAM = """
import click

@click.group()
def main():
    pass

@main.command()
def one():
    pass

main()
"""


@dataclass(frozen=True)
class Usage:
    """What a process took: seconds by the clock, and those of the processor."""

    seconds: float
    processor: float


def measure(results: Results, rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``."""
    found: dict[str, list[Usage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        for command in commands.values():
            _used(command, environment)
        for number in range(1, rounds + 1):
            for name, command in commands.items():
                found.setdefault(name, []).append(used := _used(command, environment))
                progress(f"round {number} of {rounds}: {name}: {used.processor:.2f} s of processor time")
    results.tables.append(table(found))
    results.figures |= figures(found)


def figures(found: Mapping[str, Sequence[Usage]]) -> dict[str, float]:
    """The medians of the processor time, by the names of the goals."""
    keys = {"cli_help": _HELP, "cli_check": _ONE, "cli_check_1000": _MANY}
    return {key: median(each.processor for each in found[name]) for key, name in keys.items()}


def table(found: Mapping[str, Sequence[Usage]]) -> Table:
    floor = median(each.processor for each in found[_CLICK])
    rows = []
    for name, used in found.items():
        processor = [each.processor for each in used]
        spread = f"{median(processor):.3f} ({min(processor):.3f} to {max(processor):.3f})"
        ratio = f"{median(processor) / floor:.1f}"
        rows.append([name, spread, ratio, f"{median(each.seconds for each in used):.2f}"])
    header = ["command", "processor time, s", "of click's", "by the clock, s"]
    return Table("The command line", header, rows, "Medians of the rounds (lowest to highest).")


def _commands(folder: Path) -> dict[str, list[str]]:
    program = folder / "program.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    models = folder / "models"
    for number in range(_MODELS):
        version = models / f"model{number}" / "1"
        version.mkdir(parents=True)
        (version.parent / "config.pbtxt").write_text(python_model(), encoding="utf-8")
        (version / "model.py").write_text(IDENTITY, encoding="utf-8")
    ours = [sys.executable, "-m", "triton_ensembles"]
    return {
        _RUFF: [str(Path(sys.executable).with_name("ruff")), "--help"],
        _CLICK: [sys.executable, str(program), "--help"],
        _HELP: [*ours, "--help"],
        _ONE: [*ours, "check", str(PLACES.ensembles / "bert_trt")],
        _MANY: [*ours, "check", str(models)],
    }


def _used(command: Sequence[str], environment: Mapping[str, str]) -> Usage:
    """Raises CalledProcessError."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Usage(time.perf_counter() - began, usage.ru_utime + usage.ru_stime)
