"""Options that exclude each other are refused with their names before anything is read."""

import click
import pytest
from click.testing import CliRunner

from triton_ensembles.commands.check import check_command
from triton_ensembles.commands.clone import clone
from triton_ensembles.commands.deploy import deploy
from triton_ensembles.commands.endpoint import endpoint


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        (check_command, "--baseline a --write-baseline b", "--baseline excludes --write-baseline"),
        (check_command, "--fix --run --format json", "--fix excludes --run and --format"),
        (check_command, "--write", "--write goes with --fix"),
        (clone, f"x --variants {__file__} --count 2", "--variants excludes --count: its table has the names"),
        (deploy, "--role r --single --no-cache", "--single excludes --no-cache"),
        (endpoint, "x.tar.gz --s3-url http://127.0.0.1:9", "--s3-url excludes PATH|ARCHIVE|ENSEMBLE"),
    ],
)
def test_what_excludes_each_other_is_refused(command: click.Command, arguments: str, words: str) -> None:
    result = CliRunner().invoke(command, arguments.split())
    assert (result.exit_code, words in result.output) == (2, True), result.output
