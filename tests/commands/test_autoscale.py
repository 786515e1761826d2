"""The command ``autoscale``; what it does is tested with all commands in test_deploy.py."""

import pytest

from tests.commands.conftest import Run
from triton_ensembles.commands.autoscale import autoscale


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--metric invocations needs --target-value"),
        (["--min", "3", "--target-value", "1"], "--min 3 is more than --max 2"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], words: str) -> None:
    """The error says what is missing or wrong; the exit code is 2."""
    result = run(autoscale, *arguments)
    assert words in result.output
    assert result.exit_code == 2
