"""A client of the gateway: its own JSON, and requests of any kind."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from triton_ensembles.triton.gateway_server import GatewayServer

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"


def send(
    server: GatewayServer, body: bytes | dict[str, Any], kind: str = "application/json", attributes: str = ""
) -> tuple[int, Any, str]:
    """Status, body (of JSON, what it holds) and media type of the answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": kind} | ({ATTRIBUTES: attributes} if attributes else {})
    request = urllib.request.Request(f"http://{server.sagemaker_url}/invocations", content, headers)
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            status, answer_body, media_type = answer.status, answer.read(), answer.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        status, answer_body, media_type = error.code, error.read(), error.headers["Content-Type"]
    return status, json.loads(answer_body) if media_type == "application/json" else answer_body, media_type


def named(name: str, payload: object, **more: object) -> dict[str, Any]:
    return {"modelname": name, "payload": payload, **more}
