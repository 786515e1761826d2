"""docs/rules.md, made from the rules themselves.

python -m triton_ensembles.check.rules_page
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path

from triton_ensembles.check.registry import GROUPS
from triton_ensembles.check.rule import Example, Rule, Server
from triton_ensembles.paths import ROOT
from triton_ensembles.triton.model_config import CONFIG

PAGE = ROOT / "docs" / "rules.md"
SKETCHES = Path(__file__).parent / "rules" / "sketches.toml"
_HEAD = """\
# The rules of `build.py check`

Made from the rules in `triton_ensembles/check/rules/` by `python -m triton_ensembles.check.rules_page`; do not edit.

Each bad example gets exactly the fault that it stands under, and each good one none. Unless a rule says otherwise, the
tests load both into the real tritonserver 2.51.0 (release 24.10), which refuses the bad one and serves the good one.
Where an archive, an endpoint or an environment is at fault, the examples say how one comes to it; the tests build it.
"""
_SERVER = {
    Server.REFUSES: "tritonserver 2.51.0 refuses the bad example",
    Server.DIES: "tritonserver 2.51.0 hangs or dies on the bad example, and takes all other models with it",
    Server.ACCEPTS: "tritonserver 2.51.0 loads the bad example, and it goes wrong later or in silence",
    Server.UNTESTED: "not shown on the real server (it takes a GPU, SageMaker or another release)",
}


def page() -> str:
    """The text of docs/rules.md."""
    parts = [_HEAD]
    for heading, rules in GROUPS:
        links = "\n".join(f"- [`{rule.id}`](#{rule.id}): {rule.title}" for rule in rules)
        parts.append(f"- **{heading}**\n" + "\n".join(f"  {line}" for line in links.splitlines()))
    for heading, rules in GROUPS:
        parts.append(f"\n## {heading}\n")
        parts += [_entry(rule) for rule in rules]
    return "\n".join(parts).rstrip() + "\n"


def _entry(rule: Rule) -> str:
    facts = [f"**{rule.severity}**", _SERVER[rule.server]]
    if rule.since:
        facts.append(f"refused since release {rule.since}")
    text = f"### {rule.id}\n\n{rule.title}.\n\n{'; '.join(facts)}.\nSource: {rule.source}.\n"
    for name, example in (("Bad", rule.bad), ("Good", rule.good)):
        shown = _example(example) if example else f"\n```\n{sketches()[rule.id][name.lower()]}\n```\n"
        text += f"\n{name}:\n{shown}"
    return text


@cache
def sketches() -> dict[str, dict[str, str]]:
    """``bad`` and ``good`` in words or commands, by rule, where no folder of a model can show it."""
    return tomllib.loads(SKETCHES.read_text(encoding="utf-8"))


def _example(example: Example) -> str:
    name = example.folder or "model"
    files: dict[str, str | None] = {} if example.config is None else {f"{name}/{CONFIG}": example.config}
    files |= {f"{name}/{path}": text for path, text in (example.files or {}).items()}
    files |= example.beside
    if list(files) == [f"{name}/{CONFIG}"] and not example.folder:
        return f"\n```\n{_printable(example.config or '')}\n```\n"
    return "".join(
        f"\n`{path}`\n\n```\n{_printable(text)}\n```\n" if text else f"\n`{path}{'/' if text is None else ''}`, empty\n"
        for path, text in files.items()
    )


def _printable(text: str) -> str:
    """Bytes that are no UTF-8 as ``\\xE9``, control characters as ``\\x00``, odd spaces as ``\\u00A0``."""
    shown = []
    for letter in text.rstrip():
        code = ord(letter)
        if 0xDC80 <= code <= 0xDCFF:
            shown.append(f"\\x{code - 0xDC00:02X}")
        elif not letter.isprintable() and letter != "\n":
            shown.append(f"\\x{code:02X}" if code < 128 else f"\\u{code:04X}")
        else:
            shown.append(letter)
    return "".join(shown)


def write(path: Path = PAGE) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(page(), encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    write()
