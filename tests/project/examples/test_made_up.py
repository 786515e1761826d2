"""Requests that are made up: the project's own reader of requests takes them, for every type of tensor."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.files import write_files
from triton_ensembles.project.examples.made_up import NAME, calls_in, write_example
from triton_ensembles.project.examples.request_file import read_request
from triton_ensembles.triton.model_config import DataType, ModelConfig


def config_of(datatype: str, dims: list[int], batch: int = 8) -> ModelConfig:
    config = ModelConfig(max_batch_size=batch)
    config.input.add(name="X", data_type=DataType.Value(f"TYPE_{datatype}"), dims=dims)
    return config


@pytest.mark.parametrize(
    ("datatype", "dims", "batch", "shape"),
    [
        ("FP32", [3, 224, 224], 8, (1, 3, 224, 224)),
        ("FP32", [3, -1, -1], 8, (1, 3, 224, 224)),
        ("FP16", [2, 600], 8, (1, 2, 600)),
        ("INT64", [-1], 8, (1, 8)),
        ("INT64", [-1, 700], 0, (8, 700)),
        ("BOOL", [4], 0, (4,)),
        ("UINT8", [-1], 8, (1, 8)),
        ("STRING", [-1], 8, (1, 1)),
        ("STRING", [2], 0, (2,)),
    ],
)
def test_it_fits_the_config(tmp_path: Path, datatype: str, dims: list[int], batch: int, shape: tuple[int, ...]) -> None:
    config = config_of(datatype, dims, batch)
    assert write_example(tmp_path, config, [])
    values = read_request(tmp_path / NAME, config).inputs["X"]
    assert values.shape == shape
    assert values.dtype == np.object_ or (values.astype(float).max() > 0)


def test_a_variable_size_is_that_of_the_warm_up(tmp_path: Path) -> None:
    """Otherwise a model that takes 16 000 samples of sound refuses eight."""
    config = config_of("FP32", [-1])
    config.model_warmup.add(name="w", batch_size=1).inputs["X"].dims.append(16_000)
    assert write_example(tmp_path, config, [])
    assert read_request(tmp_path / NAME, config).inputs["X"].shape == (1, 16_000)


def test_what_is_optional_is_made_up_where_all_is(tmp_path: Path) -> None:
    config = config_of("FP32", [2])
    config.input[0].optional = True
    assert write_example(tmp_path, config, [])
    assert read_request(tmp_path / NAME, config).inputs["X"].shape == (1, 2)


@pytest.mark.parametrize("datatype", ["UINT8", "STRING"])
@pytest.mark.parametrize("code", ["Image.open(io.BytesIO(row))", "fn.decoders.image(jpegs)", "cv2.imdecode(row)"])
def test_a_step_that_decodes_pictures_gets_one(tmp_path: Path, datatype: str, code: str) -> None:
    write_files(tmp_path, {"step/1/model.py": f"a = 1\n{code}\n"})
    config = config_of(datatype, [-1] if datatype == "UINT8" else [1])
    assert write_example(tmp_path, config, calls_in(tmp_path / "step"))
    values = read_request(tmp_path / NAME, config).inputs["X"]
    content = values.tobytes() if datatype == "UINT8" else values[0, 0]
    assert Image.open(io.BytesIO(content)).convert("RGB").size == (64, 64)


def test_words_about_pictures_are_no_call(tmp_path: Path) -> None:
    """Otherwise a text that a comment mentions beside cv2.imdecode is a picture."""
    write_files(tmp_path, {"step/1/model.py": "# unlike cv2.imdecode(row)\nname = 'Image.open'\n"})
    assert write_example(tmp_path, config_of("STRING", [1]), calls_in(tmp_path / "step"))
    assert read_request(tmp_path / NAME, config_of("STRING", [1])).inputs["X"][0, 0] == b"An example sentence."


def test_what_cannot_be_written_as_json_is_left_to_people(tmp_path: Path) -> None:
    assert not write_example(tmp_path / "none", config_of("BF16", [4]), [])
    assert not (tmp_path / "none").exists()
