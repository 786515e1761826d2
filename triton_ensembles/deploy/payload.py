"""Bodies for InvokeEndpoint as Triton's SageMaker front end takes them, and its answers.

Two forms: JSON (KServe v2), and JSON followed by the tensors' bytes, whose content type tells where the JSON ends. The
second is smaller and faster; AWS's limit of 6 MiB is soon reached by an image written as JSON numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import tritonclient.http as http

from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.request import Request
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
    """Tensors as bytes; without ``outputs``, all are asked for.

    There must be no space after the semicolon of the content type: Triton would not see it.
    """
    body, header = http.InferenceServerClient.generate_request_body(list(inputs), outputs=list(outputs))
    return Payload(bytes(body), f"{BINARY}{header}")


def payload_of(request: Request) -> Payload:
    """An example request as it is sent to an endpoint."""
    return binary(request.infer_inputs(), request.requested_outputs())


def read_answer(body: bytes, content_type: str) -> http.InferResult:
    """The answer to any of these. Raises :class:`EnsembleError` for a content type that is none of Triton's."""
    if content_type.startswith(BINARY):
        header = content_type[len(BINARY) :].split(";")[0]
        return http.InferenceServerClient.parse_response_body(body, header_length=int(header))
    if content_type.startswith("application/json"):
        return http.InferenceServerClient.parse_response_body(body)
    raise EnsembleError(f"the endpoint answered with {content_type or 'no content type'}: {body[:200]!r}")
