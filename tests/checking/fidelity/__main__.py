"""``make fidelity``: how often the checker is right, in docs/fidelity.md; the models that disagree, in reports/."""

import argparse
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from checkout import ROOT
from tests.checking.fidelity.corpus import CLASSES, cases
from tests.checking.fidelity.judged import Figures, Odd, judge

PAGE, REPORT = ROOT / "docs" / "fidelity.md", ROOT / "reports" / "fidelity.txt"
SEED, COUNT = 0, 150
_HEAD = """\
# How often `check` is right

Checker and tritonserver 2.51.0 (release 24.10) were asked about the same {models} models, on {day}, with seed {seed}.
Made by `make fidelity`, which `SEED=` repeats with other models; do not edit. CI asks about fewer, and fails when a
figure is worse.

| models | refused | as errors | as warnings or notes | not at all | refuted errors | right lines |
|---|---|---|---|---|---|---|
"""
_END = """
Refused: by the server; then how many of these are found as errors, only as warnings or notes, or not at all. Refuted
errors: the checker says that Triton refuses a model, and Triton serves it. Right lines: an error is on a line that was
changed; a change at the definition that is reported at the use does not count.

- Examples: the bad and the good one of each rule that a laptop can show. Configs: those of rules and in the styles of
  public projects that load, with one field deleted, doubled or given another value, or with one piece of text deleted,
  doubled or put in. model.py: a line deleted, doubled or indented otherwise, or a word misspelt or exchanged.
  Linked files: the same in a model of four files, with a base class and helpers, which calls another model.
  Symbolic links: one of these files, or the version folder, lies in another model, and its link may be misspelt.
  Ensembles: up to four steps, with tensors of any type and shape.
- A model.py also gets a request: refused is also one that fails it, or leaves an output out. Of the others only the
  load is asked, so that errors about requests are neither right nor refuted there.
"""


def measure(names: Sequence[str], count: int, number: int) -> tuple[dict[str, Figures], list[Odd]]:
    """The figures of each class, and the models about which checker and server do not agree."""
    figures: dict[str, Figures] = {}
    odd: list[Odd] = []
    for place, name in enumerate(names):
        with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
            figures[name], more = judge(cases(name, count, number), Path(folder), f"class{place}")
        print(f"{name}: {figures[name]}", flush=True)
        odd += more
    return figures, odd


def page(figures: dict[str, Figures], day: str, number: int) -> str:
    head = _HEAD.format(models=sum(figure.models for figure in figures.values()), day=day, seed=number)
    return head + "".join(map(_row, figures, figures.values())) + _END


def _row(name: str, figures: Figures) -> str:
    cells: list[object] = [f"{figures.models} {name}"]
    cells += [figures.refused, figures.errors, figures.warnings, figures.silent, figures.alarms]
    return f"| {' | '.join(map(str, cells))} | {_share(figures.right_line, figures.placed)} |\n"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "–"


def _shown(odd: Odd) -> str:
    text = (odd.case.example.files or {}).get(odd.case.file, odd.case.example.config)
    return f"== {odd.kind}: {odd.rules} lines {odd.case.lines}\n{odd.words}\n{text}\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.checking.fidelity", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--models", type=int, default=COUNT, help="drawn for each class")
    options = parser.parse_args()
    outcome, disagreed = measure(CLASSES, options.models, options.seed)
    PAGE.write_text(page(outcome, date.today().isoformat(), options.seed))
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text("\n".join(map(_shown, disagreed)))
    print(f"written: {PAGE.relative_to(ROOT)}, and {len(disagreed)} disagreements in {REPORT.relative_to(ROOT)}")
