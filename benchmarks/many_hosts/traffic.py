"""Clients with an unmodified tritonclient.http that call models by Zipf's law, and never try again."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from tritonclient.http import InferenceServerClient, InferInput

from benchmarks.soak.models import VALUES, name_of

_SECONDS = 600.0


@dataclass
class Traffic:
    """The clients' record so far."""

    answered: int = 0
    wrong: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


class Clients:
    """``count`` threads, each with a client of its own; they share the requests: the numbers of models, in order."""

    def __init__(self, address: str, models: Iterable[int], count: int) -> None:
        self.traffic = Traffic()
        self._address = address
        self._models = iter(models)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def join(self) -> Traffic:
        """Until all requests are answered."""
        for thread in self._threads:
            thread.join()
        return self.traffic

    def stop(self) -> Traffic:
        """Let running requests end."""
        self._stop.set()
        return self.join()

    def _run(self) -> None:
        with InferenceServerClient(self._address, network_timeout=_SECONDS, connection_timeout=_SECONDS) as client:
            while not self._stop.is_set():
                with self._lock:
                    number = next(self._models, None)
                if number is None:
                    return
                self._infer(client, number)

    def _infer(self, client: InferenceServerClient, number: int) -> None:
        values = np.arange(VALUES, dtype=np.float32)
        tensor = InferInput("IN", [VALUES], "FP32").set_data_from_numpy(values)
        try:
            found = client.infer(name_of(number), [tensor]).as_numpy("OUT")
        except Exception as error:  # whatever it is, it is what a user would see
            with self._lock:
                self.traffic.failures[f"{type(error).__name__}: {str(error)[:200]}"] += 1
            return
        with self._lock:
            self.traffic.answered += 1
            self.traffic.wrong += not np.array_equal(found, values + number)


@contextmanager
def under_load(
    address: str, models: Iterator[int], clients: int, *, before: int = 30, after: int = 60
) -> Iterator[Traffic]:
    """Clients that call all the while: so many requests before what happens here, and after it."""
    running = Clients(address, models, clients)
    try:
        _wait(running.traffic, before)
        yield running.traffic
        _wait(running.traffic, running.traffic.answered + after)
    finally:
        running.stop()


def _wait(traffic: Traffic, answers: int) -> None:
    deadline = time.monotonic() + _SECONDS
    while traffic.answered < answers:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{traffic.answered} answers: {traffic.failures}")
        time.sleep(0.02)
