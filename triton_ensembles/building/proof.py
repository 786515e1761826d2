"""The proof that an archive loads: unpacked as SageMaker unpacks it, and loaded once by a server with its routes."""

import json
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from triton_ensembles.endpoint.hosting.extract import ExtractionError, extract
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.triton.sagemaker_server import SageMakerServer

_LOAD_SECONDS = 600  # SageMaker gives the download and the load of a model ten minutes


def prove(archive: Path, shown_as: Path, python: str, log: Path, progress: Progress) -> None:
    """Load ``archive``, once.

    Args:
        shown_as: where it will be, for the error.
        python: the minor version that its Python code is for; "" for any.
        log: of the server.

    Raises:
        EnsembleError: it does not load; with Triton's reasons.
    """
    progress(f"proving that {archive.name} loads")
    with tempfile.TemporaryDirectory(prefix="triton-proof-", ignore_cleanup_errors=True) as scratch:
        empty, model = Path(scratch) / "empty", Path(scratch) / "models" / "proof" / "model"
        empty.mkdir()
        try:
            extract(archive, model, lambda _: None)
        except ExtractionError as error:
            raise EnsembleError(f"the archive cannot be unpacked: {error}", path=shown_as) from error
        with SageMakerServer(empty, log=log, python=python) as server:
            message = _load(server, archive.name, model)
            # Named as in the archive, not by the folder that they were unpacked into.
            reasons = [
                each.replace(f"{model}::", "").replace(f"{model}/", "") for each in server.reasons() or [message]
            ]
            if message:
                raise EnsembleError(
                    "the archive does not load, so it was not put there:\n  " + "\n  ".join(reasons),
                    path=shown_as,
                    cure=f"the server's log is {log}",
                )


def _load(server: SageMakerServer, name: str, folder: Path) -> str:
    """What the server answers to SageMaker's request to load; "" if it loads."""
    body = json.dumps({"model_name": "proof", "url": str(folder)}).encode()
    headers = {"X-Amzn-SageMaker-Target-Model": name, "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{server.sagemaker_url}/models", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=_LOAD_SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode(errors="replace")
    except TimeoutError:
        return f"the load did not end within {_LOAD_SECONDS} s"
    except OSError as error:
        return f"the server ended while it loaded ({error})"
