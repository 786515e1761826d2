"""Request bodies and answers in Triton's two forms."""

import json

import numpy as np
import pytest

from checkout import ENSEMBLES
from triton_ensembles.deploy.payload import BINARY, Payload, payload_of, read_answer
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.folder import read_examples


def test_the_content_type_tells_where_the_json_ends() -> None:
    example = read_examples(ENSEMBLES / "bert_trt").requests[0]
    payload = payload_of(example.with_texts(["one", "zwei"]))
    assert payload.content_type.startswith(BINARY)
    length = int(payload.content_type[len(BINARY) :])
    header = json.loads(payload.body[:length])
    assert header["inputs"][0]["shape"] == [2, 1]
    assert header["outputs"][0]["name"] == "finaloutput"
    assert payload.body[length:] == b"\x03\0\0\0one\x04\0\0\0zwei"


def test_a_body_that_aws_would_refuse_is_not_sent() -> None:
    with pytest.raises(EnsembleError, match=r"7\.0 MiB, and InvokeEndpoint takes at most 6 MiB"):
        Payload(b"x" * (7 << 20), "application/json")


def test_both_forms_of_answer_are_read_and_another_is_shown() -> None:
    tensor = {"name": "OUT", "datatype": "FP32", "shape": [2]}
    header = json.dumps({"model_name": "m", "outputs": [tensor | {"parameters": {"binary_data_size": 8}}]}).encode()
    binary = read_answer(header + np.array([1, 2], np.float32).tobytes(), f"{BINARY}{len(header)}")
    assert binary.as_numpy("OUT").tolist() == [1.0, 2.0]
    assert binary.get_response()["model_name"] == "m"
    plain = json.dumps({"outputs": [tensor | {"data": [3.0, 4.0]}]}).encode()
    assert read_answer(plain, "application/json").as_numpy("OUT").tolist() == [3.0, 4.0]
    with pytest.raises(EnsembleError, match="text/html"):
        read_answer(b"<html>", "text/html")


def _output(**fields: object) -> bytes:
    return json.dumps({"outputs": [{"name": "Y", "datatype": "FP32", "shape": [1], "data": [1]} | fields]}).encode()


_TEXT_OF_NO_UTF_8 = b'{"outputs": [{"name": "\xff", "datatype": "BYTES", "shape": [1], "data": ["\xff"]}]}'


@pytest.mark.parametrize(
    ("body", "form"),
    [
        *((body, "") for body in (b"", b"hello", b"[" * 3_000_000, b"[1]", b"null", b'{"outputs": "x"}')),
        *((body, "") for body in (b'{"outputs": [{}]}', _TEXT_OF_NO_UTF_8)),
        *((_output(shape=shape), "") for shape in ([10**12], [10**30], "abc")),
        *((_output(**fields), "") for fields in ({"data": ["x"]}, {"datatype": "INT32", "data": [10**30]})),
        (b"{}", "x"),
        (b"{}", "-5"),
        (_output(parameters={"binary_data_size": 10**15}) + b"ab", "99"),
        (_output(datatype="BYTES", parameters={"binary_data_size": 6}) + b"\xff\xff\xff\xffab", "104"),
    ],
)
def test_an_answer_that_is_none_is_a_line(body: bytes, form: str) -> None:
    """Otherwise `invoke` ends in a traceback over what a container of one's own answers."""
    with pytest.raises(EnsembleError, match="not one of KServe v2"):
        read_answer(body, f"{BINARY}{form}" if form else "application/json")
