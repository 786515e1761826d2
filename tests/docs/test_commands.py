"""What the documentation tells people to type exists."""

import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest

from checkout import ROOT
from docs.generators import commands as reference
from tests.docs.blocks import PAGES, blocks_of, inline_commands
from tests.running import outcome
from triton_ensembles.building.built import Built
from triton_ensembles.commands.cli import main

_TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
_PROGRAMS = ("build.py", "triton-ensembles")
_READING = re.compile(r"(\./build\.py|triton-ensembles) (check|graph|list|diff) (?!models|.*> )")  # no placeholders
_SHELL = [block for page in PAGES for block in blocks_of(page) if block.kind.split(" ")[0] == "sh"]


def _typed(program: str) -> list[tuple[str, list[str]]]:
    """The page and the words after ``program``, for each of its calls in a block of shell or in the text."""
    calls = [(page.name, words) for page in PAGES for name, words in inline_commands(page) if name == program]
    for block in _SHELL:
        for command in block.commands:
            words = command.split()
            with suppress(ValueError):  # a quotation that ends on another line
                words = shlex.split(command)
            if words and words[0].removeprefix("./") == program:
                calls.append((block.page.name, words[1:]))
    return calls


@pytest.mark.parametrize(("page", "words"), _typed("make"))
def test_targets_of_make_exist(page: str, words: list[str]) -> None:
    """Otherwise the first thing that somebody types fails."""
    assert {word.strip(",") for word in words if word.strip(",").islower()} <= set(_TARGETS), page


@pytest.mark.parametrize(("page", "words"), [call for program in _PROGRAMS for call in _typed(program)])
def test_commands_and_their_options_exist(page: str, words: list[str]) -> None:
    """Otherwise a command of the documentation is refused."""
    command = main.get_command(click.Context(main), words[0])
    if command is None:
        assert words[0].startswith("-"), f"{page}: there is no command {words[0]}"
        return
    if isinstance(command, click.Group) and words[1:]:
        below = command.get_command(click.Context(command), words[1])
        assert below is not None, f"{page}: there is no command {' '.join(words[:2])}"
        command, words = below, [*words, "--"][: [*words, "--"].index("--")]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= known | {"--help"}, f"{page}: {given - known}"


@pytest.mark.parametrize(
    "command", sorted({c for b in _SHELL if b.kind == "sh" for c in b.commands if _READING.match(c)})
)
def test_commands_that_only_read_work_as_they_stand(built: dict[str, Built], command: str, tmp_path: Path) -> None:
    """Otherwise a command of the documentation fails. Exit code 1 means that it found faults."""
    (tmp_path / "triton-ensembles").symlink_to(ROOT / "build.py")
    done = outcome("bash", "-c", command, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode in (0, 1) and done.stdout and not done.stderr, done.stdout + done.stderr


def test_the_documentation_has_commands_to_test() -> None:
    """Otherwise the two tests above test nothing."""
    assert all(len(_typed(program)) > 3 for program in ("make", "triton-ensembles"))


def test_the_page_of_commands_is_up_to_date() -> None:
    """Otherwise people read about options as they were: run python -m docs.generators.commands."""
    # In a process of its own: click keeps the help option of a command as the first test that invoked it saw it.
    code = "from docs.generators.commands import page; print(page(), end='')"
    done = outcome(sys.executable, "-c", code)
    assert reference.PAGE.read_text(encoding="utf-8") == done.stdout
