"""Triton and SageMaker's regular expression read what is written to config.pbtxt; faults name their line."""

import re
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import given

from tests.checking.configs import messages
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import ModelConfig, format_config, parse_config


@given(messages())
def test_what_is_written_reads_back_the_same_and_sagemaker_finds_the_ensemble(config: Any) -> None:
    """Otherwise its front end, which looks for this regular expression, picks any folder (sagemaker_server.h)."""
    config.platform = "ensemble"
    text = format_config(config)
    assert text_format.Parse(text, ModelConfig()) == config
    assert re.search(r"platform:(\s)*\"ensemble\"", text)


def test_the_style_is_that_of_nvidias_documentation() -> None:
    config = ModelConfig(name="m", backend="python", max_batch_size=4)
    config.input.add(name="X", data_type="TYPE_FP32", dims=[-1, 3])
    config.parameters["key"].string_value = "value"
    assert format_config(config) == (
        'name: "m"\nbackend: "python"\nmax_batch_size: 4\n'
        'input [\n  {\n    name: "X"\n    data_type: TYPE_FP32\n    dims: [ -1, 3 ]\n  }\n]\n'
        'parameters {\n  key: "key"\n  value {\n    string_value: "value"\n  }\n}\n'
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('name: "m"\nmax_batchsize: 4\n', 2, 'no field named "max_batchsize"'),
        ('name: "m"\n\ninput [ { name: "X" data_type: TYPE_FLOAT } ]\n', 3, "has no value named TYPE_FLOAT"),
        ('name: "m"\ninput [ {\n', 2, "Expected"),
    ],
)
def test_a_fault_names_the_file_and_the_line(text: str, line: int, words: str) -> None:
    with pytest.raises(EnsembleError) as caught:
        parse_config(text, "m/config.pbtxt")
    assert caught.value.line == line
    assert words in caught.value.message
    assert str(caught.value).startswith(f"m/config.pbtxt:{line}: ")
