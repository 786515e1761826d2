"""The options of perf."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from triton_ensembles.commands.perf import perf


def test_concurrencies() -> None:
    """Else a sweep measures other points than it was asked for."""
    assert perf.make_context("perf", ["--concurrency", "1,2, 64"]).params["concurrencies"] == (1, 2, 64)


@pytest.mark.parametrize("text", ["", "0", "1,x", "1:4"])
def test_wrong_concurrencies(text: str) -> None:
    """Else a slip of the finger costs the time of starting a server."""
    result = CliRunner().invoke(perf, ["--concurrency", text])
    assert result.exit_code == 2
    assert "is not a list such as 1,2,4" in result.output
