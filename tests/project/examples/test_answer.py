"""Answers as people read them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.answer import answer_lines
from triton_ensembles.project.examples.request import Request


def answer(*outputs: dict[str, Any]) -> http.InferResult:
    body = json.dumps({"model_name": "some", "outputs": outputs}).encode()
    return http.InferenceServerClient.parse_response_body(body)


NUMBERS = {"name": "OUT", "datatype": "FP32", "shape": [1, 3], "data": [0.5, 1, 2.25]}


def request(folder: Path, classes: int = 0) -> Request:
    return Request(folder / "request.json", "request.json", {"IN": np.zeros(1)}, {"OUT": classes}, batched=True)


def test_numbers_have_name_dtype_shape_and_first_values() -> None:
    assert answer_lines(answer(NUMBERS)) == ["OUT FP32 [1, 3]", "  [0.5, 1, 2.25]"]
    more = {**NUMBERS, "shape": [6], "data": [1, 2, 3, 4, 5, 6]}
    assert answer_lines(answer(more)) == ["OUT FP32 [6]", "  [1, 2, 3, 4, 5, …]"]


def test_strings_are_shown_as_text_in_json_too() -> None:
    texts = {"name": "OUT", "datatype": "BYTES", "shape": [2], "data": ["é", "b"]}
    assert answer_lines(answer(texts)) == ["OUT BYTES [2]", "  é", "  b"]


def test_classes_are_value_index_and_label(tmp_path: Path) -> None:
    """A label may hold a colon, and a model may have none."""
    classes = {"name": "OUT", "datatype": "BYTES", "shape": [1, 2], "data": ["0.75:3:a: b", "0.25:12"]}
    lines = answer_lines(answer(classes), request(tmp_path, classes=2))
    assert lines == ["OUT BYTES [1, 2]", "    0.750     3  a: b", "    0.250    12"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", r"show\.py: show failed: KeyError: 'show'"),
        ("def show(inputs, outputs):\n    return outputs['PUT']\n", r"show\.py: show failed: .*'PUT'"),
        ("def show(inputs, outputs)\n", r"show\.py: show failed: SyntaxError"),
    ],
)
def test_a_show_that_fails_is_named(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "show.py").write_text(code)
    with pytest.raises(EnsembleError, match=message):
        answer_lines(answer(NUMBERS), request(tmp_path))
