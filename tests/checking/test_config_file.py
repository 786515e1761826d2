"""A hostile config.pbtxt is read soon. What is found in the text of one, and where, is in cases/config-*.yaml."""

from typing import Any

import pytest

from tests.work import calls_of
from triton_ensembles.checking.config_file import ConfigFile

_MEGABYTE = 1_000_000
_CALLS = 100  # of functions for a character of a text, whatever it holds
_INPUT = 'input [ { name: "X", data_type: TYPE_FP32, dims: [ %s ] } ]\n'


@pytest.mark.parametrize(
    "text",
    ["\n" * _MEGABYTE, "#\n" * (_MEGABYTE // 2), _INPUT % ("-" * _MEGABYTE), _INPUT % ("," * _MEGABYTE),
     "a " * (_MEGABYTE // 2), "{" * 250_000, "a{" * 100_000, "input[" * 40_000, '"' * 250_000, "a:" * 100_000,
     "}" * 250_000, "dims:-" * 40_000, "input { dims: [" + "1," * 40_000, "\\" * 200_000, "input{" * 40_000,
     "name: 'x' " * 20_000, "é" * 100_000],
    ids=lambda text: f"{text[:8]}{text[-10:]}",
)  # fmt: skip
def test_a_megabyte_of_nonsense_takes_no_minutes(text: str) -> None:
    """Otherwise a broken or hostile config.pbtxt keeps `check` busy for a minute, or fills the screen."""
    faults: list[Any] = []
    assert calls_of(lambda: faults.extend(ConfigFile("config.pbtxt", text).faults)) < _CALLS * len(text)
    assert (0 if text.startswith(("\n", "#")) else 1) <= len(faults) <= 102
