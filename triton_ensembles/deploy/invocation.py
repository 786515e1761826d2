"""InvokeEndpoint with patience for cold starts.

The first request for a model makes SageMaker download, extract and load it. What takes longer than 60 s is answered
with ModelNotReadyException (429) while loading goes on, up to 360 s. botocore's standard retry mode, its default since
1.44, gives up at once: it never retries that code.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from triton_ensembles.deploy.aws import Aws, code_of, doing, message_of
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.deploy.rollback import Say
from triton_ensembles.errors import EnsembleError

COLD_START = "ModelNotReadyException"
# 360 s of loading after the 60 s of the first answer, and a little more.
PATIENCE = 480.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 20.0


@dataclass(frozen=True)
class Answer:
    """``seconds`` is from the first try on, ``tries`` counts all of them."""

    body: bytes
    content_type: str
    variant: str
    seconds: float
    tries: int


def invoke(aws: Aws, endpoint: str, model: str, payload: Payload, say: Say, patience: float = PATIENCE) -> Answer:
    """Ask ``model`` (a TargetModel), again and again while it is being loaded.

    Raises:
        EnsembleError: not loaded after ``patience`` seconds, or the endpoint's or the model's own reason.
    """
    started, tries, pause = time.monotonic(), 0, _FIRST_PAUSE
    while True:
        tries += 1
        try:
            with doing(f"asking {model} at {endpoint}"):
                return _ask(aws, endpoint, model, payload, started, tries)
        except EnsembleError as error:
            if not _is_cold_start(error.__cause__):
                raise
            waited = time.monotonic() - started
            if waited + pause > patience:
                raise EnsembleError(
                    f"{model} was still being loaded after {waited:.0f} s and {tries} tries",
                    cure="look into the endpoint's log; a smaller archive loads faster",
                ) from error
        say(f"{model} is being loaded (a cold start); asking again in {pause:.0f} s")
        # A little chance, so that many clients of one cold model do not all come back at the same moment.
        time.sleep(pause * random.uniform(0.8, 1.2))
        pause = min(pause * 1.6, _LONGEST_PAUSE)


def _ask(aws: Aws, endpoint: str, model: str, payload: Payload, started: float, tries: int) -> Answer:
    request: dict[str, Any] = {
        "EndpointName": endpoint,
        "TargetModel": model,
        "ContentType": payload.content_type,
        "Body": payload.body,
    }
    try:
        reply = aws.runtime.invoke_endpoint(**request)
        body = reply["Body"].read()
    except ClientError as error:
        if code_of(error) == "ModelError":
            raise _model_error(error, endpoint, model) from error
        raise
    return Answer(
        body,
        reply["ContentType"],
        reply.get("InvokedProductionVariant", ""),
        time.monotonic() - started,
        tries,
    )


def _is_cold_start(error: BaseException | None) -> bool:
    """A read timeout is one too: some proxies cut the first, long request off."""
    return isinstance(error, ReadTimeoutError) or (isinstance(error, ClientError) and code_of(error) == COLD_START)


def _model_error(error: ClientError, endpoint: str, model: str) -> EnsembleError:
    """424: the container answered with an error; its words are in OriginalMessage."""
    status = error.response.get("OriginalStatusCode", "?")
    words = error.response.get("OriginalMessage") or message_of(error)
    log = error.response.get("LogStreamArn", "")
    return EnsembleError(
        f"{model} at {endpoint} answered {status}: {words}", cure=f"the endpoint's log has more: {log}" if log else ""
    )
