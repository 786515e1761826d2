"""Faults in the text of a config.pbtxt: all are reported, at their place, the rest is read anyway, and soon."""

from __future__ import annotations

from typing import Any

import pytest

from tests.work import calls_of
from triton_ensembles.checking.config_file import ConfigFile
from triton_ensembles.triton.model_config import DataType

_MEGABYTE = 1_000_000
_CALLS = 100  # of functions for a character of a text, whatever it holds
_INPUT = 'input [ { name: "X", data_type: TYPE_FP32, dims: [ %s ] } ]\n'
MANY = """\
name: scale
bakend: "python"
max_batch_size: "8"
input [
  { name: "X" data_type: FP32 dims: [ 4, -1 ] },
  { name: "Z", data_type: TYPE_FP23, dims [ 4 5, ] }
]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
parameters { key: "path" value { string_value: "C:\\quick" } }
dynamic_batching { preferred_batch_size: 4.0 }
max_batch_size: 16
"""
# The lines of its faults.
FAULTS = {"wrong-type": [1, 3, 10], "unknown-field": [2], "unknown-enum": [5, 6], "syntax": [6, 6, 6]}
FAULTS |= {"bad-string": [9], "field-twice": [11]}


def test_all_faults_are_found_at_their_lines_and_the_intended_values_are_read() -> None:
    """Otherwise people fix one fault only to hear of the next, or one misspelt word makes a second fault."""
    file = ConfigFile("config.pbtxt", MANY)
    found: dict[str, list[int]] = {}
    for fault in file.faults:
        found.setdefault(fault.rule.removeprefix("config-"), []).append(file.place(fault.offset).line)
    assert found == FAULTS
    config = file.config
    assert (config.name, config.backend, config.max_batch_size) == ("scale", "python", 8)
    assert [(tensor.name, list(tensor.dims)) for tensor in config.input] == [("X", [4, -1]), ("Z", [4, 5])]
    assert {tensor.data_type for tensor in config.input} == {DataType.TYPE_FP32}
    assert list(config.dynamic_batching.preferred_batch_size) == [4]


def test_places_of_everything() -> None:
    """Otherwise faults are shown beside the wrong line, or those in a list where the list begins."""
    file = ConfigFile(
        "m/config.pbtxt",
        'input {\n  name: "X"\n  dims: [ 4, -1,\n    3, # depth\n 5,6 ]\n}\n'
        'parameters {\n  value {\n    string_value: "v"\n  }\n  key: "k"\n}\n',
    )
    for path, place in {
        ("input", 0): "1:1",
        ("input", 0, "name"): "2:9",
        **{("input", 0, "dims", index): place for index, place in enumerate(["3:11", "3:14", "4:5", "5:2", "5:4"])},
        ("input", 0, "dims", 5): "3:3",  # not there: the list
        ("input", 0, "data_type"): "1:1",  # not there: the input around it
        ("parameters", "k", "value", "string_value"): "9:19",
        ("parameters", "k", "key"): "11:8",
        ("output",): "1",
    }.items():
        assert str(file.at(*path)) == f"m/config.pbtxt:{place}", path
    assert file.config.parameters["k"].string_value == "v"


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
