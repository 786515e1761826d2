"""Configs that were made to keep the checker busy: a megabyte of anything is read in proportion to its length."""

from __future__ import annotations

import time

import pytest

from triton_ensembles.checking.config_file import ConfigFile
from triton_ensembles.checking.text.parser import parse
from triton_ensembles.triton.model_config import ModelConfig

_MEGABYTE = 1_000_000
_SECONDS = 5.0  # of processor time that a whole `check` may take, whatever a file holds; these take half a second
_INPUT = 'input [ { name: "X", data_type: TYPE_FP32, dims: [ %s ] } ]\n'
_TEXTS = {
    "line breaks": "\n" * _MEGABYTE,
    "minus signs": _INPUT % ("-" * _MEGABYTE),
    "commas": _INPUT % ("," * _MEGABYTE),
    "names on one line": "a " * (_MEGABYTE // 2),
    "comments": "#\n" * (_MEGABYTE // 2),
}


@pytest.mark.parametrize("text", _TEXTS.values(), ids=_TEXTS)
def test_a_megabyte_of_nonsense_takes_no_minutes(text: str) -> None:
    """Otherwise a config of line breaks, or of one long line, keeps `check` busy for a minute."""
    start = time.process_time()
    parse(text, ModelConfig())
    assert time.process_time() - start < _SECONDS


def test_every_item_of_a_long_list_has_its_place() -> None:
    """Otherwise a fault in a list is shown where the list begins."""
    text = "input [ { dims: [ 1, -1,\n  3, # depth\n 4,5 ] } ]\nparameters { key: 'a', value { string_value: 'b' } }\n"
    file = ConfigFile("config.pbtxt", text.replace("'", '"'))
    places = [file.at("input", 0, "dims", index) for index in range(6)]
    assert [(place.line, place.column) for place in places] == [(1, 19), (1, 22), (2, 3), (3, 2), (3, 4), (1, 11)]
    place = file.at("parameters", "a", "value", "string_value")
    assert (place.line, place.column) == (4, 46)
    assert file.config.parameters["a"].string_value == "b"
