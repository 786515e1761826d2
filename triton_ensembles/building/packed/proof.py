"""The proof that an archive loads: unpacked as SageMaker unpacks it, and loaded once by a server with its routes; and
that its models answer."""

import contextlib
import http.client
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.probe import Probe
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.single_model import named_in
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.progress import Progress
from triton_ensembles.probing.load import LostError, wait_for_answer
from triton_ensembles.probing.probe import Prober
from triton_ensembles.sagemaker.extraction import ExtractionError, extract
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.sockets import connection_to
from triton_ensembles.triton.destination import Destination

_LOAD_SECONDS = 600  # SageMaker gives the download and the load of a model ten minutes
# On a machine that is very busy, stubs start so slowly that tritonserver 2.51.0 gives up and aborts.
_TRIES = 2


def prove(request: BuildRequest, archive: Path, python: str, written: Mapping[str, Path], progress: Progress) -> None:
    """Load ``archive``, which will take the place of the one that ``request`` asks for, once; also send each model a
    request if it asks for that.

    Args:
        python: the minor version that its Python code is for; "" for any.
        written: the folders of its models as people wrote them, with their examples.

    Raises:
        EnsembleError: it does not load, for Triton's reasons, or a model does not answer as its config says.
    """
    single, shown_as = request.destination.single, request.archive
    progress(f"proving that {archive.name} loads")
    with tempfile.TemporaryDirectory(prefix="triton-proof-", ignore_cleanup_errors=True) as scratch:
        empty, model = Path(scratch) / "empty", Path(scratch) / "models" / "proof" / "model"
        empty.mkdir()
        try:
            extract(archive, model, lambda _: None)
        except ExtractionError as error:
            raise EnsembleError(f"the archive cannot be unpacked: {error}", path=shown_as) from error
        destination = Destination(image=request.destination.image, single=single)
        alone = named_in({}, next(find_repositories(archive)), destination) if single else None
        start = partial(SageMakerServer, model if single else empty, alone, log=request.log, python=python)
        _load(request, archive.name, model, start, progress)
        if request.proof is Proof.ANSWERS:
            completes = request.implied is not None and not request.implied.is_complete

            def run(repositories: Sequence[Repository], _faults: Sequence[Fault]) -> list[Probe]:
                (repository,) = repositories
                models = {known.folder: known for known in repository.models_read}
                prober = Prober(model, models, python, completes, _LOAD_SECONDS, progress, written)
                return [Probe(repository, prober.run())]

            message = f"the models do not answer as they should, so {shown(shown_as)} was not put there"
            refuse_faults(archive, destination, message, {archive: shown_as}, run=run)


def _load(
    request: BuildRequest, name: str, model: Path, start: Callable[[], SageMakerServer], progress: Progress
) -> None:
    """Load the archive called ``name``, which is unpacked into ``model``: by the start of a single-model server, or by
    a request to another."""
    single = request.destination.single
    for _ in range(_TRIES):
        try:
            with start() as server:
                reasons, ended = ([], False) if single else _reasons(server, name, model)
        except EnsembleError as error:
            if not single:
                raise
            reasons, ended = [error.message], False
        if not ended:
            break
        progress(f"the server ended while it loaded {name}; trying once more")
    if reasons:
        # Named as in the archive, not by the folder that they were unpacked into.
        reasons = [reason.replace(f"{model}::", "").replace(f"{model}/", "") for reason in reasons]
        message = "the archive does not load, so it was not put there:\n  " + "\n  ".join(reasons)
        raise EnsembleError(message, path=request.archive, cure=f"the server's log is {shown(request.log)}")


def _reasons(server: SageMakerServer, name: str, folder: Path) -> tuple[list[str], bool]:
    """Why the model does not load, nothing if it does; and whether the server ended meanwhile."""
    connection = connection_to(server.sagemaker_url)
    body = json.dumps({"model_name": "proof", "url": str(folder)})
    headers = {"X-Amzn-SageMaker-Target-Model": name, "Content-Type": "application/json"}
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/models", body, headers)
            wait_for_answer(connection, server, _LOAD_SECONDS)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except LostError as error:  # it may hang in its last words, with the connection open
            return [*server.reasons(), str(error)], server.crashed()
        except (OSError, http.client.HTTPException) as error:
            return server.reasons() or [f"the server ended while it loaded ({error})"], True
    return ([] if answer.status == http.HTTPStatus.OK else server.reasons() or [text]), False
