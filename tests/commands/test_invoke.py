"""The command ``invoke``; its answers are tested with the local endpoint."""

from tests.commands.conftest import Run
from triton_ensembles.commands.invoke import invoke


def test_the_answers_of_two_models_do_not_fit_one_file(run: Run) -> None:
    """Otherwise the second answer would overwrite the first."""
    result = run(invoke, "one", "two", "--output", "x")
    assert result.exit_code == 2
    assert "--output takes the answer of one MODEL" in result.output
