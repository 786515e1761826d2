"""The body of AWS's JSON protocols."""

import json
from typing import Any

from aiohttp import web

from triton_ensembles.endpoint.api.errors import SerializationException
from triton_ensembles.hosting.request_body import Body, BodyTooLarge

_MOST_BYTES = 1 << 20


async def parsed(request: web.BaseRequest) -> dict[str, Any]:
    """Return the JSON object of a request's body, without members that are null, which count as absent (Smithy's
    awsJson1_1). Raises SerializationException."""
    try:
        body = await Body(request, _MOST_BYTES).whole()
        value = json.loads(body or b"{}", parse_constant=_refuse_constant, object_pairs_hook=_given)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except BodyTooLarge as error:
        raise SerializationException(f"the body is larger than {_MOST_BYTES} bytes") from error
    except ValueError as error:
        raise SerializationException(f"the body is not JSON: {error}") from error
    except RecursionError:
        raise SerializationException("the body is not JSON that can be read: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise SerializationException("the body is not a JSON object")
    return value


def _given(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in members if value is not None}


def _refuse_constant(name: str) -> Any:
    """NaN, Infinity and -Infinity, which Python's reader takes for numbers."""
    raise ValueError(f"{name} is not a JSON value")
