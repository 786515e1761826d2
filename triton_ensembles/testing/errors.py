"""The error that a client of a step gets."""


class TritonError(Exception):
    """The server's words, and ``code``, such as "INVALID_ARG". A function that answers for a model may raise it."""

    def __init__(self, message: str, code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.code = code
