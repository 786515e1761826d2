"""Messages of the S3 process and the endpoint to each other besides requests: a secret, and refusals.

The endpoint writes the refusals in the format of the service (forward.py).
"""

SECRET = "X-Triton-Ensembles-Secret"
"""The header with the secret that the S3 process demands of each request."""

CONTENT_TYPE = "application/x-refusal+json"  # {"code": …, "message": …}


class Fault(Exception):
    """An error of a service by its ``code``."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
