"""The answer to clients whose request gets no result."""

from collections.abc import Sequence


class Refused(Exception):
    """An answer with an HTTP status, as JSON ``{"error": message, …}``, with ``known`` values, such as ``models``."""

    def __init__(self, status: int, message: str, **known: Sequence[str]) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message, **{key: list(values) for key, values in known.items()}}
