"""Results of tensors that do not go together."""

import pytest
from tritonclient.grpc import InferResult
from tritonclient.grpc import service_pb2 as kserve

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.models_toml import Input, Model
from triton_ensembles.gateway.payloads import Signature, Tensor, decode


@pytest.mark.parametrize("shape", [(3,), ()])
def test_outputs_that_make_no_rows_are_named(shape: tuple[int, ...]) -> None:
    response = kserve.ModelInferResponse()
    for name, dims in (("A", (2,)), ("B", shape)):
        response.outputs.add(name=name, datatype="UINT8", shape=dims)
        response.raw_output_contents.append(bytes(dims[0] if dims else 1))
    tensors = {name: Tensor("UINT8", (-1,), batches=False) for name in "AB"}
    image = {"I": Input(field="img", form="base64")}
    model = Model(name="m", version="1", model="m", inputs=image, result={"a": "A", "b": "B"})
    with pytest.raises(Refused, match="m version 1: its outputs A, B are not lists of one length") as caught:
        decode(model, Signature({}, tensors), InferResult(response))
    assert caught.value.status == 500
