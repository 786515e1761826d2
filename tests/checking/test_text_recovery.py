"""Faults in the text of a config.pbtxt: all are reported, at their place, with a fix, and the rest is read anyway."""

from __future__ import annotations

import pytest

from triton_ensembles.checking.config_file import ConfigFile
from triton_ensembles.triton.model_config import DataType

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


def found(text: str) -> list[tuple[int, str]]:
    file = ConfigFile("config.pbtxt", text)
    return [(file.place(fault.offset).line, fault.rule) for fault in file.faults]


def test_all_faults_are_found_at_their_lines() -> None:
    """Otherwise people fix one fault only to hear of the next."""
    assert found(MANY) == [
        (1, "config-wrong-type"),
        (2, "config-unknown-field"),
        (3, "config-wrong-type"),
        (5, "config-unknown-enum"),
        (6, "config-unknown-enum"),
        (6, "config-syntax"),
        (6, "config-syntax"),
        (6, "config-syntax"),
        (9, "config-bad-string"),
        (10, "config-wrong-type"),
        (11, "config-field-twice"),
    ]


def test_the_intended_value_is_read() -> None:
    """Otherwise one misspelt word makes a second fault somewhere else."""
    config = ConfigFile("config.pbtxt", MANY).config
    assert (config.name, config.backend, config.max_batch_size) == ("scale", "python", 8)
    assert [(tensor.name, list(tensor.dims)) for tensor in config.input] == [("X", [4, -1]), ("Z", [4, 5])]
    assert {tensor.data_type for tensor in config.input} == {DataType.TYPE_FP32}
    assert list(config.dynamic_batching.preferred_batch_size) == [4]


def test_places_of_everything() -> None:
    """Otherwise faults are shown beside the wrong line."""
    file = ConfigFile(
        "m/config.pbtxt",
        'input {\n  name: "X"\n  dims: [ 4,\n    5 ]\n}\n'
        'parameters {\n  value {\n    string_value: "v"\n  }\n  key: "k"\n}\n',
    )
    assert str(file.at("input", 0)) == "m/config.pbtxt:1:1"
    assert str(file.at("input", 0, "name")) == "m/config.pbtxt:2:9"
    assert str(file.at("input", 0, "dims", 1)) == "m/config.pbtxt:4:5"
    assert str(file.at("input", 0, "data_type")) == "m/config.pbtxt:1:1"  # not there: the input around it
    assert str(file.at("parameters", "k", "value", "string_value")) == "m/config.pbtxt:8:19"
    assert str(file.at("parameters", "k", "key")) == "m/config.pbtxt:10:8"
    assert str(file.at("output")) == "m/config.pbtxt:1"


@pytest.mark.parametrize(
    "text",
    ["{" * 250_000, "a{" * 100_000, "input[" * 40_000, '"' * 250_000, "a:" * 100_000, "}" * 250_000, "dims:-" * 40_000,
     "input { dims: [" + "1," * 40_000, "\\" * 200_000, "input{" * 40_000, "name: 'x' " * 20_000, "é" * 100_000],
    ids=lambda text: text[:10],
)  # fmt: skip
def test_hostile_texts_end(text: str) -> None:
    """Otherwise a broken or hostile config.pbtxt hangs the checker or fills the screen."""
    faults = ConfigFile("config.pbtxt", text).faults
    assert 0 < len(faults) <= 102
