"""Request bodies and answers in Triton's two forms."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

from triton_ensembles.deploy.payload import (
    BINARY,
    Payload,
    as_json,
    photograph,
    photograph_as_pixels,
    read_answer,
    sentences,
)
from triton_ensembles.errors import EnsembleError


def test_the_content_type_tells_where_the_json_ends() -> None:
    payload = sentences(["one", "zwei"])
    assert payload.content_type.startswith(BINARY)
    length = int(payload.content_type[len(BINARY) :])
    header = json.loads(payload.body[:length])
    assert header["inputs"][0]["shape"] == [2, 1]
    assert payload.body[length:] == b"\x03\0\0\0one\x04\0\0\0zwei"


def test_an_image_is_sent_as_it_is() -> None:
    payload = photograph(b"\xff\xd8 a photograph", 3)
    assert payload.body.endswith(b"\xff\xd8 a photograph")


def test_pixels_are_sent_as_numbers() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (50, 40), (255, 0, 0)).save(stream, "PNG")
    payload = photograph_as_pixels(stream.getvalue(), 3)
    values = np.frombuffer(payload.body[-4 * 3 * 224 * 224 :], np.float32).reshape(3, 224, 224)
    for plane, value in zip(values, ((1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225), strict=True):
        np.testing.assert_allclose(plane, value, rtol=1e-5)  # red, green, blue


def test_a_body_that_aws_would_refuse_is_not_sent() -> None:
    with pytest.raises(EnsembleError, match=r"7\.0 MiB, and InvokeEndpoint takes at most 6 MiB"):
        Payload(b"x" * (7 << 20), "application/json")


def test_both_forms_of_answer_are_read() -> None:
    header = json.dumps({"model_name": "m", "outputs": [{"name": "OUT", "datatype": "FP32", "shape": [2]}]})
    tensor = {"name": "OUT", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}
    binary = json.dumps({"model_name": "m", "outputs": [tensor]}).encode()
    body = binary + np.array([1, 2], np.float32).tobytes()
    content_type = f"{BINARY}{len(binary)}"
    assert read_answer(body, content_type).as_numpy("OUT").tolist() == [1.0, 2.0]
    assert as_json(body, content_type)["model_name"] == "m"

    plain = json.loads(header)
    plain["outputs"][0]["data"] = [3.0, 4.0]
    body = json.dumps(plain).encode()
    assert read_answer(body, "application/json").as_numpy("OUT").tolist() == [3.0, 4.0]
    assert as_json(body, "application/json")["outputs"][0]["data"] == [3.0, 4.0]


def test_what_triton_would_never_say_is_shown() -> None:
    with pytest.raises(EnsembleError, match="text/html"):
        read_answer(b"<html>", "text/html")
