"""docs/rules.md, made from the rules themselves: python -m docs.generators.rules"""

import re
from pathlib import Path

from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.rule import Rule, Server
from triton_ensembles.ground.files import write_whole
from triton_ensembles.triton.pip_server import VERSION

PAGE = Path("docs/rules.md")  # of the checkout, from its root
_HEAD = f"""\
# The rules of `check`

`check --explain RULE` prints a rule with a bad and a good example, what `check` and the server say about the bad one,
and the fix. The third column is what that tritonserver does with the bad example. The tests load both examples of every
rule into it, except where it says "untested": such a rule needs a GPU, SageMaker or another release. Made by
`python -m docs.generators.rules`; do not edit.

| rule | severity | tritonserver {VERSION} | source |
| --- | --- | --- | --- |
"""
_SERVER = {
    Server.REFUSES: "refuses it",
    Server.DIES: "hangs or crashes",
    Server.ACCEPTS: "loads it",
    Server.JUDGES: "finds it itself",
    Server.UNTESTED: "untested",
}


def page() -> str:
    """The text of docs/rules.md."""
    return _HEAD + "".join(_row(rule) for rule in RULES)


def _row(rule: Rule) -> str:
    server = _SERVER[rule.server] + (f"; refuses it since {rule.since}" if rule.since else "")
    return f"| `{rule.id}`: {_escaped(rule.title)} | {rule.severities} | {server} | {_escaped(rule.source)} |\n"


def _escaped(text: str) -> str:
    return re.sub(r"[\\|*<$]|__", lambda match: "".join(f"\\{letter}" for letter in match[0]), text)


if __name__ == "__main__":
    with write_whole(PAGE) as partial:
        partial.write_text(page(), encoding="utf-8")
