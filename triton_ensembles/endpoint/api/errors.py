"""Errors of the control plane, as AWS shapes them in JSON 1.1."""


class ApiError(Exception):
    """An error reply: ``{"__type": code, "message": message}``."""

    status = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def code(self) -> str:
        return type(self).__name__


class ValidationException(ApiError):
    """SageMaker's error for invalid values, unknown names and names that already exist."""


class SerializationException(ApiError):
    """The body is not the JSON that the operation expects."""


class UnknownOperationException(ApiError):
    """SageMaker itself does not have the operation."""


class NotSupportedLocally(ApiError):
    """AWS has this, the local endpoint does not. No AWS error has this code, so the two cannot be confused."""

    def __init__(self, feature: str, cure: str = "") -> None:
        super().__init__(f"{feature} is not supported locally" + (f"; {cure}" if cure else ""))
