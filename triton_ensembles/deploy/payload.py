"""Bodies for InvokeEndpoint as Triton's SageMaker front end takes them, and its answers.

Two forms: JSON (KServe v2), and JSON followed by the tensors' bytes, whose content type tells where the JSON ends. The
second is smaller and faster; AWS's limit of 6 MiB is soon reached by an image written as JSON numbers.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.request import Request
from triton_ensembles.sagemaker.contract import LARGEST_BODY

_UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error)
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


@dataclass(frozen=True)
class Payload:
    body: bytes
    content_type: str

    def __post_init__(self) -> None:
        if len(self.body) > LARGEST_BODY:
            message = f"the request is {len(self.body) / 2**20:.1f} MiB, and InvokeEndpoint takes at most 6 MiB"
            raise EnsembleError(message, cure="send less at once, or smaller images")


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
    """The answer to any of these, all of whose outputs can be read.
    Raises :class:`EnsembleError`: it is none of Triton's; anything may answer in a container of one's own."""
    binary_form = content_type.startswith(BINARY)
    if not binary_form and not content_type.startswith("application/json"):
        raise EnsembleError(f"the endpoint answered with {content_type or 'no content type'}: {body[:200]!r}")
    try:
        length = int(content_type[len(BINARY) :].split(";")[0]) if binary_form else None
        result = http.InferenceServerClient.parse_response_body(body, header_length=length)
        for output in result.get_response().get("outputs", []):
            result.as_numpy(output["name"])
    except (*_UNREADABLE, InferenceServerException) as error:
        message = f"the answer is not one of KServe v2 ({f'{type(error).__name__}: {error}'[:200]}): {body[:100]!r}"
        raise EnsembleError(message, cure="look at the model's log") from None
    return result
