"""One call of InvokeEndpoint, and the model's answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, Protocol


class Invocation(NamedTuple):
    """The body and headers of InvokeEndpoint; None for each header that the client did not send.

    Args:
        body: the whole body, or its pieces as they arrive. Only a whole body can be sent a second time, after the
            container answered 507 and another model was unloaded.
        content_length: bytes of a body in pieces (the container does not accept chunked requests).
    """

    body: bytes | AsyncIterator[bytes]
    target_model: str | None = None
    content_type: str | None = None
    accept: str | None = None
    custom_attributes: str | None = None
    inference_id: str | None = None
    content_length: int | None = None


class ReplyBody(Protocol):
    """A long answer in pieces, as it arrives. Raises InternalFailure when it breaks off."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Reply(NamedTuple):
    """A model's answer with a status below 400; any other is raised as ModelError.

    Args:
        headers: the container's Content-Type.
        content_length: bytes of the body; None where the container does not say.
        body: the whole body when it is small, otherwise its pieces, which must be read to the end or closed
            (``aclose``): the model counts as in use until then.
        model_seconds: CloudWatch's ModelLatency: from sending the request to the container to its whole answer, or for
            a body in pieces to the answer's head.
        instance: the index of the instance that answered.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | ReplyBody
    content_length: int | None
    model_seconds: float
    instance: int

    async def aclose(self) -> None:
        """Close a body that is not read to its end. Harmless at any other time."""
        if not isinstance(self.body, bytes):
            await self.body.aclose()
