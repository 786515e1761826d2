"""perf_analyzer as the load on one model of a running server: what it is told, for a sweep and for the benchmarks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.analyzer import ClientTimes, NoAnswerError, read_csv, run_analyzer
from triton_ensembles.measuring.perf.inputs import Inputs
from triton_ensembles.server.home import find_home
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.triton_server import TritonServer

WINDOWS = 3  # the fewest that perf_analyzer needs before it calls a measurement stable
LONGEST_WINDOW = 60.0  # seconds; windows are doubled up to this when no request is answered within one
LIMIT_SECONDS = 120.0  # for requests that are under way together, such as those when the last window closes

Measured = TypeVar("Measured")


def in_windows(
    measure: Callable[[float], Measured], seconds: float, progress: Progress, longest: float = LONGEST_WINDOW
) -> tuple[Measured, float]:
    """Measure with windows that are doubled until requests are answered within each.

    Args:
        measure: takes the seconds of all windows together.
        longest: seconds of a window, after which :class:`NoAnswerError` is raised.

    Returns:
        The measurement, and the seconds that were needed.
    """
    while True:
        try:
            return measure(seconds), seconds
        except NoAnswerError:
            if seconds >= WINDOWS * longest:
                raise
            window, seconds = seconds / WINDOWS, min(2 * seconds, WINDOWS * longest)
            progress(
                f"no answer within a window of {window:.1f} s; measuring again with {seconds / WINDOWS:.1f} s "
                f"(at most {longest:.0f} s)"
            )


@dataclass(frozen=True)
class LoadGenerator:
    """Requests of one kind to one model.

    Attributes:
        folder: where perf_analyzer runs and writes its CSV files.
        protocol: "grpc" or "http".
        rows: in a request.
    """

    server: TritonServer | SageMakerServer
    folder: Path
    model: str
    protocol: str
    rows: int
    inputs: Inputs

    def warm_up(self, concurrency: int, requests: int, limit_seconds: float = LIMIT_SECONDS) -> None:
        """First requests are slow: engines plan at their first run of a shape, arenas grow.

        Over gRPC in any case: with --request-count and HTTP, perf_analyzer hangs when the last request is answered
        before it looks for the first time (8 of 60 runs of 64 short requests, over gRPC none).
        """
        load = ["--concurrency-range", str(concurrency), "--request-count", str(requests)]
        self._run("grpc", [*self._target("grpc"), *load], limit_seconds)

    def measure(self, concurrency: int, seconds: float, limit_seconds: float = LIMIT_SECONDS) -> ClientTimes:
        """Keep ``concurrency`` requests under way for ``seconds`` and about a fifth more.

        Args:
            limit_seconds: how much longer than twice as long it may take.
        """
        return self._measured(self.arguments(concurrency, seconds), limit_seconds + 2 * seconds)

    def measure_at(self, rate: float, seconds: float) -> ClientTimes:
        """Send ``rate`` requests a second, whether or not those before were answered, for as long as in ``measure``."""
        load = ["--request-rate-range", str(rate), "--request-distribution", "constant"]
        arguments = [*self._target(self.protocol), *load, *self._report(seconds, "rate")]
        return self._measured(arguments, LIMIT_SECONDS + 2 * seconds)

    def arguments(self, concurrency: int, seconds: float) -> list[str]:
        """perf_analyzer's arguments for :meth:`measure`; the last one is the name of its CSV file."""
        load = ["--concurrency-range", str(concurrency)]
        return [*self._target(self.protocol), *load, *self._report(seconds, str(concurrency))]

    def _measured(self, arguments: Sequence[str], limit_seconds: float) -> ClientTimes:
        file = self.folder / arguments[-1]
        file.unlink(missing_ok=True)
        self._run(self.protocol, arguments, limit_seconds)
        return read_csv(file)

    def _run(self, protocol: str, arguments: Sequence[str], limit_seconds: float) -> None:
        secret = self.server.secret.grpc if protocol == "grpc" else self.server.secret.http
        headers = [word for name, value in secret.items() for word in ("-H", f"{name}:{value}")]
        run_analyzer(find_home(), [*headers, *arguments], self.folder, limit_seconds)

    @staticmethod
    def _report(seconds: float, name: str) -> list[str]:
        """Always three windows, merged into one result.

        perf_analyzer reports nothing at all when three windows differ by more than -s, and on a machine that does other
        work they often do; so -s is set beyond reach, and the reader judges by the spread.
        """
        window = round(seconds * 1000 / WINDOWS)
        windows = ["--measurement-mode", "time_windows", "-p", str(window), "-r", str(WINDOWS), "-s", "1000"]
        return [*windows, "--verbose-csv", "-f", f"{name}.csv"]

    def _target(self, protocol: str) -> list[str]:
        url = self.server.grpc_url if protocol == "grpc" else self.server.http_url
        model = ["-m", self.model, "-i", protocol, "-u", url, "-b", str(self.rows)]
        return [*model, *self.inputs.arguments]
