"""Refusals of the S3 process, passed to forward.py, which writes errors in the format of the service."""

CONTENT_TYPE = "application/x-refusal+json"  # {"code": …, "message": …}


class Fault(Exception):
    """An error of a service by its ``code``."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
