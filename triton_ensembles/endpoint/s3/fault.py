"""What S3 refuses before moto sees it."""


class Fault(Exception):  # noqa: N818 (a fact about the request)
    """An error of S3 by its ``code``."""

    def __init__(self, code: str, message: str, status: str = "400 Bad Request") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
