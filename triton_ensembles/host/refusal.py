"""The answer to a request that gets no result: JSON with ``error``, as Triton has it."""

from collections.abc import Mapping, Sequence
from typing import Self

from aiohttp import web
from pydantic_core import to_json

from triton_ensembles.host.names import in_words
from triton_ensembles.hosting.errors import (
    ArchiveMissing,
    HostingError,
    InternalFailure,
    LoadFailed,
    ModelError,
    ModelNotReadyException,
    ServiceUnavailable,
)

RETRY = {"Retry-After": "1"}


class Refused(Exception):
    """A request gets this status and sentence; ``known`` are further values of the answer, such as ``models``."""

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] | None = None, **known: Sequence[str]
    ) -> None:
        super().__init__(message)
        self.status = status
        self._headers = headers
        self._known = {key: list(values) for key, values in known.items()}

    @classmethod
    def of(cls, error: HostingError, name: str) -> Self:
        """The answer for an error of the model ``name``: Triton's own status and message, where it is Triton's."""
        message, headers = error.message, None
        status = 500
        if isinstance(error, ArchiveMissing):
            status = 404
        elif isinstance(error, ModelError) and not isinstance(error, LoadFailed):
            status, message = error.original_status or 504, error.original_message if error.original_status else message
        elif isinstance(error, ModelNotReadyException | ServiceUnavailable | InternalFailure):
            status, headers = 503, RETRY
        return cls(status, in_words(message, name), headers)

    def response(self) -> web.Response:
        headers = {"Content-Type": "application/json", **(self._headers or {})}
        return web.Response(status=self.status, body=to_json({"error": str(self), **self._known}), headers=headers)
