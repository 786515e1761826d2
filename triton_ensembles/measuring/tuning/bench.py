"""Candidates on one real server: each is loaded beside the others through Triton's load API, and none restarts it."""

import contextlib
import time
from collections.abc import Sequence

import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.perf.load_generator import LoadGenerator, in_windows
from triton_ensembles.measuring.perf.sweep import Load, generator_for
from triton_ensembles.measuring.tuning.same_answers import Row, answers, difference
from triton_ensembles.measuring.tuning.search import Budget, RejectedError
from triton_ensembles.measuring.tuning.space import PRESENT, Candidate
from triton_ensembles.measuring.tuning.subject import Subject
from triton_ensembles.measuring.tuning.variants import Variants
from triton_ensembles.probing.load import LostError, load
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.triton_server import TritonServer

LONGEST_WINDOW = 20.0  # seconds, up to which windows are doubled where no request is answered within one
_LEAST_LIMIT = 20.0  # seconds: what a load or a measurement may take when the budget is nearly spent
_LONGEST_LOAD = 600.0
_AT_ONCE = 8
_UNLOAD_SECONDS = 60.0


class ServedBench:
    """Measures candidates with perf_analyzer; a context manager, within which the server runs.

    Args:
        python: the minor version that the ensemble's Python code is for; "" for any.

    Attributes:
        about: what is sent, in words.
        compared: whether answers are compared with those of the present settings.
        server: the one that runs now.
    """

    def __init__(
        self, subject: Subject, variants: Variants, python: str, load: Load, budget: Budget, progress: Progress
    ) -> None:
        self._variants, self._scratch, self._examples = variants, variants.scratch, subject.examples
        self._log, self._python = subject.places.build / "tritonserver.log", python
        self._budget, self._progress = budget, progress
        self._requests, self.seconds = load, load.seconds
        self._rows: Sequence[Row] = list(subject.examples.rows())
        self._present: list[Row] = []
        self._generators: dict[Candidate, LoadGenerator] = {}
        self._running = contextlib.ExitStack()
        self.about, self.compared = "", bool(self._rows)

    def __enter__(self) -> "ServedBench":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def load(self, candidate: Candidate) -> None:
        """Stage, load, warm up, and compare the answers. Raises :class:`RejectedError`."""
        name = self._variants.stage(candidate)
        self._load(name)
        try:
            with self._client(self._limit()) as client:
                config = client.get_model_config(name)
                if self.compared:
                    self._compare(client, name, candidate, batched=int(config.get("max_batch_size", 0)) > 0)
            generator = generator_for(self.server, config, self._examples, self._requests, self._scratch)
            generator.warm_up(_AT_ONCE, max(2 * _AT_ONCE, generator.inputs.entries), self._limit())
        except (InferenceServerException, OSError, EnsembleError) as error:
            raise self._rejected(error, "it does not answer") from error
        self.about = generator.inputs.about
        self._generators[candidate] = generator

    def release(self, candidate: Candidate) -> None:
        """Unload it, and wait until that is done: 2.51.0 may crash when it loads beside an unload."""
        if self._generators.pop(candidate, None) is None or not self.server.alive():
            return
        name = self._variants.name(candidate)
        with contextlib.suppress(InferenceServerException, OSError), self._client(_UNLOAD_SECONDS) as client:
            client.unload_model(name, unload_dependents=True)
            until = time.monotonic() + _UNLOAD_SECONDS
            while time.monotonic() < until and any(
                _is_loaded(entry, name) for entry in client.get_model_repository_index()
            ):
                time.sleep(0.05)

    def measure(self, candidate: Candidate, concurrency: int) -> ClientTimes:
        """Run perf_analyzer once. Raises :class:`RejectedError`: requests failed, or the server ended."""
        if candidate not in self._generators:  # the server ended meanwhile
            self.load(candidate)
        generator = self._generators[candidate]

        def measure(seconds: float) -> ClientTimes:
            return generator.measure(concurrency, seconds, self._limit())

        try:
            times, self.seconds = in_windows(measure, self.seconds, self._progress, LONGEST_WINDOW)
        except (EnsembleError, OSError) as error:
            raise self._rejected(error, "it failed under load") from error
        return times

    def _load(self, name: str) -> None:
        try:
            reason = load(self.server, name, self._variants.repository / name, self._limit(_LONGEST_LOAD))
        except LostError as error:
            raise self._rejected(error, "it does not load") from error
        if reason:
            raise RejectedError(f"it does not load: {' '.join(reason.split())}")

    def _compare(self, client: http.InferenceServerClient, name: str, candidate: Candidate, *, batched: bool) -> None:
        outputs = answers(client, name, self._rows, batched=batched)
        if candidate != PRESENT:
            engines = [str(value) for _, value in candidate.changes]
            precision = "int8" if any(engine.endswith("int8") for engine in engines) else "bf16"
            if differs := difference(outputs, self._present, precision):
                raise RejectedError(f"its answers differ: {differs}")
        elif difference(answers(client, name, self._rows, batched=batched), outputs):
            self.compared = False
            self._progress("answers are not compared: the present settings answer one request in two ways")
        else:
            self._present = outputs

    def _rejected(self, error: Exception, failure: str) -> RejectedError:
        """The rejection for an error; a server that ended or hangs with it is started again."""
        ended = self.server.crashed()
        if ended or isinstance(error, OSError | LostError) or "timed out" in str(error):
            self._progress("tritonserver is started again")
            self._running.close()
            self._start()
        text = error.headline if isinstance(error, EnsembleError) else str(error)
        return RejectedError(f"{failure}: {'tritonserver ended: ' if ended else ''}{' '.join(text.split())}")

    def _start(self) -> None:
        self._generators.clear()
        explicit = ["--model-control-mode=explicit"]
        server = TritonServer(
            [self._variants.repository],
            arguments=explicit,
            completes=False,
            reach=Reach.SECRET,
            log=self._log,
            python=self._python,
        )
        self.server = self._running.enter_context(server)

    def _limit(self, longest: float = 120.0) -> float:
        """Seconds that the next thing may take."""
        return max(_LEAST_LIMIT, min(self._budget.left, longest))

    def _client(self, seconds: float) -> http.InferenceServerClient:
        limits = {"network_timeout": seconds, "connection_timeout": seconds}
        return http_client(self.server, concurrency=_AT_ONCE, **limits)


def _is_loaded(entry: dict[str, str], ensemble: str) -> bool:
    """Return whether this entry of the repository index is a model of the ensemble that is not unloaded yet."""
    ours = entry["name"] == ensemble or entry["name"].startswith(f"{ensemble}.")
    return ours and entry.get("state", "UNAVAILABLE") != "UNAVAILABLE"
