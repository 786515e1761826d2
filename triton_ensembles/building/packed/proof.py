"""The proof that an archive loads: unpacked as SageMaker unpacks it, and loaded once by a server with its routes."""

import contextlib
import http.client
import json
import select
import tempfile
import time
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.sagemaker.extraction import ExtractionError, extract
from triton_ensembles.triton.sagemaker_server import SageMakerServer

_LOAD_SECONDS = 600  # SageMaker gives the download and the load of a model ten minutes
# On a machine that is very busy, stubs start so slowly that tritonserver 2.51.0 gives up and aborts.
_TRIES = 2


def prove(archive: Path, shown_as: Path, python: str, log: Path, progress: Progress) -> None:
    """Load ``archive``, which will be at ``shown_as``, once, in a server with this ``log``. ``python``: the minor
    version that its Python code is for; "" for any. Raises :class:`EnsembleError` with Triton's reasons: it does not
    load."""
    progress(f"proving that {archive.name} loads")
    with tempfile.TemporaryDirectory(prefix="triton-proof-", ignore_cleanup_errors=True) as scratch:
        empty, model = Path(scratch) / "empty", Path(scratch) / "models" / "proof" / "model"
        empty.mkdir()
        try:
            extract(archive, model, lambda _: None)
        except ExtractionError as error:
            raise EnsembleError(f"the archive cannot be unpacked: {error}", path=shown_as) from error
        for _ in range(_TRIES):
            with SageMakerServer(empty, log=log, python=python) as server:
                reasons, ended = _reasons(server, archive.name, model)
            if not ended:
                break
            progress(f"the server ended while it loaded {archive.name}; trying once more")
        if reasons:
            # Named as in the archive, not by the folder that they were unpacked into.
            reasons = [reason.replace(f"{model}::", "").replace(f"{model}/", "") for reason in reasons]
            message = "the archive does not load, so it was not put there:\n  " + "\n  ".join(reasons)
            raise EnsembleError(message, path=shown_as, cure=f"the server's log is {log}")


def _reasons(server: SageMakerServer, name: str, folder: Path) -> tuple[list[str], bool]:
    """Why the model does not load, nothing if it does; and whether the server ended meanwhile."""
    connection = http.client.HTTPConnection(server.sagemaker_url)
    body = json.dumps({"model_name": "proof", "url": str(folder)})
    headers = {"X-Amzn-SageMaker-Target-Model": name, "Content-Type": "application/json"}
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/models", body, headers)
            limit = time.monotonic() + _LOAD_SECONDS
            while not select.select([connection.sock], [], [], 1.0)[0]:
                if server.crashed():  # it may hang in its last words, with the connection open
                    return [*server.reasons(), "the server crashed while it loaded"], True
                if time.monotonic() > limit:
                    return [*server.reasons(), f"the load did not end within {_LOAD_SECONDS} s"], False
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return server.reasons() or [f"the server ended while it loaded ({error})"], True
    return ([] if answer.status == http.HTTPStatus.OK else server.reasons() or [text]), False
