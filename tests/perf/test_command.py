"""The options of perf."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from triton_ensembles.perf.command import perf_options


@click.command()
@perf_options
def options(**given: Any) -> None:
    click.echo(given["concurrencies"])


def test_concurrencies() -> None:
    """Else a sweep measures other points than it was asked for."""
    assert CliRunner().invoke(options, ["--concurrency", "1,2, 64"]).output == "(1, 2, 64)\n"


@pytest.mark.parametrize("text", ["", "0", "1,x", "1:4"])
def test_wrong_concurrencies(text: str) -> None:
    """Else a slip of the finger costs the time of starting a server."""
    result = CliRunner().invoke(options, ["--concurrency", text])
    assert result.exit_code == 2
    assert "is not a list such as 1,2,4" in result.output
