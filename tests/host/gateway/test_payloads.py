"""Results of tensors that do not go together."""

import json

import pytest
from tritonclient.http import InferResult

from triton_ensembles.host.gateway.models_toml import Input, Model
from triton_ensembles.host.gateway.payloads import Signature, Tensor, decode
from triton_ensembles.host.refusal import Refused


@pytest.mark.parametrize("shape", [(3,), ()])
def test_outputs_that_make_no_rows_are_named(shape: tuple[int, ...]) -> None:
    outputs = [
        {"name": name, "datatype": "UINT8", "shape": dims, "data": [0] * (dims[0] if dims else 1)}
        for name, dims in (("A", (2,)), ("B", shape))
    ]
    response = InferResult.from_response_body(json.dumps({"outputs": outputs}).encode())
    tensors = {name: Tensor("UINT8", (-1,), batches=False) for name in "AB"}
    image = {"I": Input(field="img", form="base64")}
    model = Model(name="m", version="1", model="m", inputs=image, result={"a": "A", "b": "B"})
    with pytest.raises(Refused, match="m version 1: its outputs A, B are not lists of one length") as caught:
        decode(model, Signature({}, tensors), response)
    assert caught.value.status == 500
