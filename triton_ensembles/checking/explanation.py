"""``check --explain``: one rule with its examples, what ``check`` says about the bad one, and how to fix it."""

import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import indent

from triton_ensembles.archive.folder import read_folder
from triton_ensembles.checking.checker import check_repositories
from triton_ensembles.checking.formats.text import fault_lines
from triton_ensembles.checking.registry import RULES, RULES_BY_ID, TEXT_EXAMPLES
from triton_ensembles.checking.repository import Form, Repository
from triton_ensembles.checking.rule import Example, Rule, Server, cure_for
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.ground.errors import EnsembleError, escaped
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.triton.pip_server import VERSION

_MODEL = "model"  # the folder of an example that does not require another name
_SERVER = {
    Server.REFUSES: f"tritonserver {VERSION} refuses the bad example",
    Server.DIES: f"tritonserver {VERSION} hangs or crashes on the bad example, and all other models with it",
    Server.ACCEPTS: f"tritonserver {VERSION} loads the bad example, and it fails later or silently",
    Server.JUDGES: "the fault is what the server says or answers",
    Server.UNTESTED: "not tested on the real server (it takes a GPU, SageMaker or another release)",
}


def explain(id: str) -> str:
    """The explanation of a rule. Raises :class:`EnsembleError` for an unknown name."""
    rule = RULES_BY_ID.get(id)
    if rule is None:
        raise EnsembleError(f"there is no rule '{id}'", cure=cure_for(id))
    return "\n".join(_lines(rule))


def rule_list() -> str:
    """A line for each rule: its name, its severity and its title."""
    width = max(len(rule.id) for rule in RULES)
    return "\n".join(f"{rule.id:{width}}  {rule.severity:7}  {rule.title}" for rule in RULES)


@cache
def text_examples() -> dict[str, dict[str, str]]:
    """``bad`` and ``good`` in words or commands, by rule, where the folder of a model cannot show it."""
    texts = (tomllib.loads(path.read_text(encoding="utf-8")) for path in TEXT_EXAMPLES)
    return {id: examples for by_rule in texts for id, examples in by_rule.items()}


def _lines(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} ({rule.severities})\n{rule.title}"
    texts = text_examples().get(rule.id, {})
    yield "\nBad:\n"
    yield indent(_example(rule.bad) if rule.bad else texts["bad"], "    ")
    if rule.bad:
        yield "\nWhat check says:\n"
        yield indent("\n".join(_faults(rule, rule.bad)), "    ")
    yield "\nGood:\n"
    yield indent(_example(rule.good) if rule.good else texts["good"], "    ")
    since = f"; Triton refuses it since release {rule.since}" if rule.since else ""
    yield f"\nServer: {_SERVER[rule.server]}{f': {rule.words}' if rule.words else ''}{since}"
    yield f"Source: {rule.source}"


def _faults(rule: Rule, example: Example) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        stage(example, root, _MODEL)
        repository = Repository(root, "repository", Form.FOLDER, read_folder(root))
        for fault in check_repositories([repository], rule.destination, [rule]):
            yield from fault_lines(fault)


def _example(example: Example) -> str:
    name = example.folder or _MODEL
    files: dict[str, str | None] = {} if example.config is None else {f"{name}/{CONFIG}": example.config}
    files |= {f"{name}/{path}": text for path, text in (example.files or {}).items()}
    files |= example.beside
    lines = []
    for path, text in files.items():
        empty = f"{path}{'/' if text is None else ''} (empty)"
        lines.append(f"{path}:\n{indent(escaped(text.rstrip(), lines=True), '    ')}" if text else empty)
    return "\n".join(lines)
