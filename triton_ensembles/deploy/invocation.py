"""InvokeEndpoint, repeated during cold starts.

The first request for a model makes SageMaker download, extract and load it. A request that waits longer than 60 s is
answered with ModelNotReadyException (429) while loading continues, up to 360 s. botocore's standard retry mode, its
default since 1.44, never retries that code.
"""

import random
import time
from dataclasses import dataclass

from botocore.exceptions import ClientError, ReadTimeoutError

from triton_ensembles.deploy.aws import Aws, aws_errors, error_code, error_message
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

_COLD_START = "ModelNotReadyException"
PATIENCE = 480.0  # seconds: 360 of loading after the 60 of the first answer, and some more
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 20.0


@dataclass(frozen=True)
class Answer:
    """The model's answer.

    Args:
        seconds: since the first try.
        tries: how often the request was sent.
    """

    body: bytes
    content_type: str
    seconds: float
    tries: int


def invoke_model(
    aws: Aws, endpoint: str, model: str, payload: Payload, progress: Progress, patience: float = PATIENCE
) -> Answer:
    """Send a request to one model, again while the model is being loaded.

    Args:
        model: the TargetModel; "" on a single-model endpoint.
        patience: seconds that loading may take.

    Raises:
        EnsembleError: the model is not loaded by then, or the reason of the endpoint or the model.
    """
    started, tries, pause = time.monotonic(), 0, FIRST_PAUSE
    target, model = ({"TargetModel": model} if model else {}), model or "the model"
    while True:
        tries += 1
        try:
            with aws_errors(f"invoke {model} at {endpoint}"):
                reply = aws.runtime.invoke_endpoint(
                    EndpointName=endpoint, **target, ContentType=payload.content_type, Body=payload.body
                )
                body, seconds = reply["Body"].read(), time.monotonic() - started
            return Answer(body, reply["ContentType"], seconds, tries)
        except EnsembleError as error:
            cause, waited = error.__cause__, time.monotonic() - started
            code = error_code(cause) if isinstance(cause, ClientError) else ""
            if isinstance(cause, ClientError) and code == "ModelError":
                raise _model_error(cause, endpoint, model) from cause
            # A read timeout is a cold start too: some proxies cut off the first, long request.
            if code != _COLD_START and not isinstance(cause, ReadTimeoutError):
                raise
            if waited + pause > patience:
                message = f"{model} was still being loaded after {waited:.0f} s and {tries} tries"
                raise EnsembleError(message, cure="read the endpoint's log; a smaller archive loads faster") from error
        progress(f"{model} is being loaded (a cold start); trying again in {pause:.0f} s")
        # Random, so that the many clients of one cold model do not all return at the same moment.
        time.sleep(pause * random.uniform(0.8, 1.2))
        pause = min(pause * 1.6, LONGEST_PAUSE)


def _model_error(error: ClientError, endpoint: str, model: str) -> EnsembleError:
    """424: the container answered with an error; its message is in OriginalMessage."""
    status = error.response.get("OriginalStatusCode", "?")
    message = error.response.get("OriginalMessage") or error_message(error)
    log = error.response.get("LogStreamArn", "")
    message = f"{model} at {endpoint} answered {status}: {message}"
    return EnsembleError(message, cure=f"the endpoint's log has the details: {log}" if log else "")
