"""Puts a model's name into Triton's answers and sentences, in which it has the name of its entry's key."""

import json
import re

from triton_ensembles.hosting.request import Reply
from triton_ensembles.hosting.triton_api import JSON_LENGTH

# r24.10 src/http_server.cc: an answer begins with the id, if the request has one, and the name.
_HEAD = re.compile(rb'\{(?:"id":"(?:[^"\\]|\\.)*",)?"model_name":"(?P<name>[^"\\]*)"')
_ENOUGH = 64 << 10  # bytes in which the name must have come


async def renamed(reply: Reply, name: str) -> Reply:
    """The answer to an inference request, with its beginning changed."""
    body = reply.body
    if isinstance(body, bytes):
        changed, more = _renamed(body, name)
        return reply._replace(body=changed, headers=_longer(reply, more), content_length=len(changed))
    head = b""
    async for piece in body:
        head += piece
        if len(head) >= _ENOUGH or _HEAD.match(head):
            break
    changed, more = _renamed(head, name)
    body.unread(changed)
    length = None if reply.content_length is None else reply.content_length + more
    return reply._replace(headers=_longer(reply, more), content_length=length)


def described(content: bytes, name: str) -> bytes:
    """The metadata, the configuration or the statistics of a model."""
    answer = json.loads(content)
    for described in answer.get("model_stats", [answer]):
        described["name"] = name
    return json.dumps(answer).encode()


def in_words(text: str, name: str) -> str:
    """The sentence with the model's own name for any key of it, and without the folder that Triton writes before it."""
    return re.sub(rf"(/\S*::)?{re.escape(name)}-[0-9a-f]{{8}}(\.\d+)?", name, text) if name else text


def _renamed(content: bytes, name: str) -> tuple[bytes, int]:
    """The content, and by how much it is longer."""
    if not (match := _HEAD.match(content)):
        return content, 0
    changed = content[: match.start("name")] + name.encode() + content[match.end("name") :]
    return changed, len(changed) - len(content)


def _longer(reply: Reply, more: int) -> dict[str, str]:
    headers = dict(reply.headers)
    if JSON_LENGTH in headers:
        headers[JSON_LENGTH] = str(int(headers[JSON_LENGTH]) + more)
    return headers
