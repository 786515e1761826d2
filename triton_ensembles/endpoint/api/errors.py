"""Errors of the control plane, as AWS shapes them in JSON 1.1."""

from __future__ import annotations


class ApiError(Exception):
    """One error reply: ``{"__type": code, "message": message}``."""

    code = "InternalFailure"
    status = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ValidationException(ApiError):  # noqa: N818 (AWS's own name)
    """SageMaker's error for invalid values, unknown names and names that already exist."""

    code, status = "ValidationException", 400


class SerializationException(ApiError):  # noqa: N818
    """The body is not the JSON that the operation expects."""

    code, status = "SerializationException", 400


class UnknownOperationException(ApiError):  # noqa: N818
    """SageMaker itself does not have the operation."""

    code, status = "UnknownOperationException", 400


class ServiceUnavailable(ApiError):  # noqa: N818
    """The server is stopping."""

    code, status = "ServiceUnavailable", 503


class NotSupportedLocally(ApiError):  # noqa: N818
    """AWS has this, the local endpoint does not. No AWS error has this code, so the two cannot be confused."""

    code, status = "NotSupportedLocally", 400

    def __init__(self, what: str, cure: str = "") -> None:
        super().__init__(f"{what} is not supported locally" + (f"; {cure}" if cure else ""))
