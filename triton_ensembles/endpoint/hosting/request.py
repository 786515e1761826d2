"""One call of InvokeEndpoint on its way to a model, and the answer on its way back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, Protocol


class Invocation(NamedTuple):
    """What InvokeEndpoint was given, headers as they came; None where the client sent none.

    Args:
        body: the whole body, or its pieces as they arrive. Only a whole body can be sent a second time, after the
            container answered 507 and other models made room.
        content_length: bytes of a body that comes in pieces (the container reads no chunked requests).
    """

    body: bytes | AsyncIterator[bytes]
    target_model: str | None = None
    content_type: str | None = None
    accept: str | None = None
    custom_attributes: str | None = None
    inference_id: str | None = None
    content_length: int | None = None


class ReplyBody(Protocol):
    """A long answer in pieces, as it arrives. An InternalFailure ends it when the container breaks off."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Reply(NamedTuple):
    """A model's answer, which always has a status below 400: any other is raised as ModelError.

    Args:
        headers: Content-Type as the container wrote it.
        content_length: bytes of the body; None where the container does not say.
        body: the whole body when it is small, or its pieces. Pieces must be read to the end or closed (``aclose``):
            the model counts as in use until then.
        model_seconds: what CloudWatch calls ModelLatency: from sending the request to the container to its whole
            answer, or for a body in pieces to the answer's head.
        instance: index of the instance that answered.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | ReplyBody
    content_length: int | None
    model_seconds: float
    instance: int

    async def aclose(self) -> None:
        """Let go of a body that will not be read to its end. Harmless at any other time."""
        if not isinstance(self.body, bytes):
            await self.body.aclose()
