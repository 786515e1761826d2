"""What can go wrong between a request and its model, each error in the shape in which InvokeEndpoint reports it.

The names and status codes are those of botocore's service model of sagemaker-runtime (2017-05-13); which fault becomes
which of them is AWS's documented behaviour where it is documented, and is stated at each class where it is not.
"""

from __future__ import annotations

from triton_ensembles.errors import EnsembleError


class HostingError(EnsembleError):
    """A fault of hosting; ``code`` and ``status`` are what the client of InvokeEndpoint sees."""

    code = "InternalFailure"
    status = 500


class ValidationError(HostingError):
    """The request itself is wrong: TargetModel missing, not wanted, or not to be found."""

    code, status = "ValidationError", 400


class ModelError(HostingError):
    """The container (tritonserver) or the model answered with an error.

    Args:
        original_status: the container's HTTP status; 507 also where this platform itself ran out of memory or disk for
            the model, 0 where the container gave no answer in time.
        original_message: the container's own words.
    """

    code, status = "ModelError", 424

    def __init__(self, message: str, *, original_status: int, original_message: str, cure: str = "") -> None:
        super().__init__(message, cure=cure)
        self.original_status = original_status
        self.original_message = original_message


class ModelNotReadyException(HostingError):  # noqa: N818 (AWS's own name)
    """The model is still being downloaded or loaded after the first 60 s; the load goes on meanwhile."""

    code, status = "ModelNotReadyException", 429


class InternalFailure(HostingError):  # noqa: N818 (AWS's own name)
    """The container died while it worked on the request. botocore retries it."""

    code, status = "InternalFailure", 500


class ServiceUnavailable(HostingError):  # noqa: N818 (AWS's own name)
    """No instance can take the request now: the endpoint is going away, or its memory is full of models in use."""

    code, status = "ServiceUnavailable", 503
