"""Each plan of docs/planning.md prints what stands below it; ``python -m tests.docs.test_planning`` writes it again."""

import os
import shlex
from itertools import pairwise
from unittest import mock

import pytest

from checkout import ROOT
from tests.commands.projects import run_in
from tests.docs.blocks import Block, blocks_of

PAGE = ROOT / "docs" / "planning.md"


def plans() -> list[tuple[Block, Block]]:
    """The plans of the page, each with what it prints."""
    return [pair for pair in pairwise(blocks_of(PAGE)) if (pair[0].kind, pair[1].kind) == ("sh", "text")]


# Nobody to ask for prices: those of the table, on every machine.
_NO_AWS = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_DEFAULT_REGION": "us-east-1",
}


def printed(block: Block) -> str:
    """Run the block's command; returns what it prints now."""
    (command,) = block.commands
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | _NO_AWS
    with mock.patch.dict(os.environ, environment, clear=True):
        done = run_in(ROOT, *shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(("command", "output"), plans(), ids=lambda block: block.kind)
def test_a_plan_prints_what_the_page_says(command: Block, output: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of ``…`` stands for lines that the page leaves out."""
    monkeypatch.chdir(ROOT)
    first, *others = output.text.split("…\n")
    whole = printed(command)
    assert whole == first if not others else whole.startswith(first)
    for part in others:
        assert part in whole


if __name__ == "__main__":
    os.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    for block, output in plans():
        head = f"{block.text}```\n\n```text\n"
        text = text.replace(head + output.text, head + printed(block))
    PAGE.write_text(text, encoding="utf-8")
