"""A client of the gateway: its own JSON, and requests of any kind."""

import json
from typing import Any

import requests

from triton_ensembles.server.gateway_server import GatewayServer

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"


def send(
    server: GatewayServer, body: bytes | dict[str, Any], kind: str = "application/json", attributes: str = ""
) -> tuple[int, Any, str]:
    """Status, body (of JSON, what it holds) and media type of the answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": kind} | ({ATTRIBUTES: attributes} if attributes else {})
    answer = requests.post(f"http://{server.sagemaker_url}/invocations", content, headers=headers, timeout=300)
    media_type = answer.headers["Content-Type"]
    return answer.status_code, answer.json() if media_type == "application/json" else answer.content, media_type


def named(name: str, payload: object, **more: object) -> dict[str, Any]:
    return {"modelname": name, "payload": payload, **more}
