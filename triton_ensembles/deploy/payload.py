"""Bodies for InvokeEndpoint as Triton's SageMaker front end takes them, and its answers.

Two forms: JSON (KServe v2), and JSON followed by the tensors' bytes, whose content type tells where the JSON ends. The
second is smaller and faster; AWS's limit of 6 MiB is soon reached by an image written as JSON numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tritonclient.http as http

from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.imagenet import SIDE, pixels
from triton_ensembles.triton.sagemaker_contract import LARGEST_BODY

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


@dataclass(frozen=True)
class Payload:
    body: bytes
    content_type: str

    def __post_init__(self) -> None:
        if len(self.body) > LARGEST_BODY:
            raise EnsembleError(
                f"the request is {len(self.body) / 2**20:.1f} MiB, and InvokeEndpoint takes at most 6 MiB",
                cure="send less at once, or smaller images",
            )


def binary(inputs: Sequence[http.InferInput], outputs: Sequence[http.InferRequestedOutput]) -> Payload:
    """Tensors as bytes. There must be no space after the semicolon of the content type: Triton would not see it."""
    body, header = http.InferenceServerClient.generate_request_body(list(inputs), outputs=list(outputs))
    return Payload(bytes(body), f"{BINARY}{header}")


def sentences(texts: Sequence[str]) -> Payload:
    """INPUT0 BYTES [len(texts), 1], asking for finaloutput: what bert_trt takes."""
    rows = http.InferInput("INPUT0", [len(texts), 1], "BYTES")
    rows.set_data_from_numpy(np.array([[text.encode()] for text in texts], dtype=np.object_))
    return binary([rows], [http.InferRequestedOutput("finaloutput")])


def photograph(image: bytes, top: int) -> Payload:
    """INPUT UINT8 [1, len(image)], an encoded image, asking for the ``top`` classes of OUTPUT: dali_inception's."""
    encoded = http.InferInput("INPUT", [1, len(image)], "UINT8")
    encoded.set_data_from_numpy(np.frombuffer(image, np.uint8)[None, :])
    return binary([encoded], [http.InferRequestedOutput("OUTPUT", class_count=top)])


def photograph_as_pixels(image: bytes, top: int) -> Payload:
    """INPUT__0 FP32 [1, 3, 224, 224], asking for the ``top`` classes of OUTPUT__0: resnet_pytorch's."""
    tensor = http.InferInput("INPUT__0", [1, 3, SIDE, SIDE], "FP32")
    tensor.set_data_from_numpy(pixels(image)[None])
    return binary([tensor], [http.InferRequestedOutput("OUTPUT__0", class_count=top)])


def read_answer(body: bytes, content_type: str) -> http.InferResult:
    """The answer to any of these. Raises :class:`EnsembleError` for a content type that is none of Triton's."""
    if content_type.startswith(BINARY):
        header = content_type[len(BINARY) :].split(";")[0]
        return http.InferenceServerClient.parse_response_body(body, header_length=int(header))
    if content_type.startswith("application/json"):
        return http.InferenceServerClient.parse_response_body(body)
    raise EnsembleError(f"the endpoint answered with {content_type or 'no content type'}: {body[:200]!r}")


def as_json(body: bytes, content_type: str) -> Any:
    """The JSON part of an answer: model_name, outputs with names, shapes and datatypes."""
    length = int(content_type[len(BINARY) :].split(";")[0]) if content_type.startswith(BINARY) else len(body)
    return json.loads(body[:length])
