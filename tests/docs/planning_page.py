"""The commands of docs/planning.md that are shown with what they print.

``python -m tests.docs.planning_page`` writes what they print now into the page.
"""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from unittest import mock

from click.testing import CliRunner

from checkout import ROOT
from tests.docs.blocks import Block, blocks_of
from triton_ensembles.commands.cli import main

PAGE = ROOT / "docs" / "planning.md"
# Nobody to ask for prices: those of the table, on every machine.
_NO_AWS = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_DEFAULT_REGION": "us-east-1",
}


def shown() -> list[tuple[Block, Block]]:
    """Each command with the output below it."""
    return [(one, other) for one, other in pairwise(blocks_of(PAGE)) if (one.kind, other.kind) == ("sh", "text")]


def printed(block: Block) -> str:
    """What the block's command prints now."""
    (command,) = block.commands
    left = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with mock.patch.dict(os.environ, {**left, **_NO_AWS}, clear=True):
        done = CliRunner().invoke(main, ["--project", str(ROOT), *shlex.split(command)[1:]])
    assert done.exit_code == 0, done.output
    return done.stdout


if __name__ == "__main__":
    os.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    for block, output in shown():
        text = text.replace(
            f"{block.text}```\n\n```text\n{output.text}", f"{block.text}```\n\n```text\n{printed(block)}"
        )
    PAGE.write_text(text, encoding="utf-8")
