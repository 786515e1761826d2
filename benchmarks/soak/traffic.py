"""Clients that call models by Zipf's law, compare answers, and may try again what is not ready."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from benchmarks.soak.models import VALUES
from benchmarks.soak.subjects import Ask, NotReady, host_client
from tests.processes import wait_until
from triton_ensembles.measuring.planning.traffic import zipf

EXPONENT = 1.1
_LONGEST_PAUSE = 8.0  # seconds between attempts
_SECONDS = 600.0  # until so many answers have come as are waited for


@dataclass
class Traffic:
    """The clients' record so far.

    Attributes:
        latencies: of answers, in seconds, with their repetitions.
        models: the numbers of those that have answered.
    """

    latencies: list[float] = field(default_factory=list)
    not_ready: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    models: set[int] = field(default_factory=set)

    @property
    def answered(self) -> int:
        return len(self.latencies)

    @property
    def failed(self) -> int:
        return self.failures.total()


def drawn(models: int, requests: int, seed: int = 0) -> list[int]:
    """The model of each request: the n-th most popular one has a share in proportion to n ** -1.1."""
    generator = np.random.default_rng(seed)
    names = generator.permutation(models)  # otherwise the popular ones would be those that were uploaded first
    numbers: list[int] = names[generator.choice(models, requests, p=zipf(models, EXPONENT, 1.0).rates)].tolist()
    return numbers


class Clients:
    """``count`` threads, each with a client of its own; they share the requests, in order.

    Args:
        client: called by each thread.
        models: the number of the model of each request.
        again: whether a request is repeated until its model is ready.
    """

    def __init__(self, client: Callable[[], Ask], models: Iterable[int], count: int, *, again: bool = True) -> None:
        self.traffic = Traffic()
        self._client, self._again = client, again
        self._models = iter(models)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def start(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def join(self) -> Traffic:
        """Wait until all requests are answered."""
        for thread in self._threads:
            thread.join()
        return self.traffic

    def stop(self) -> Traffic:
        """Let running requests end."""
        self._stop.set()
        return self.join()

    def _run(self) -> None:
        ask = self._client()
        sent = 0
        while not self._stop.is_set():
            with self._lock:
                number = next(self._models, None)
            if number is None:
                return
            sent += 1
            self._invoke(ask, number, float(sent))

    def _invoke(self, ask: Ask, number: int, value: float) -> None:
        began = time.monotonic()
        try:
            answer = self._answer(ask, number, value)
        except Exception as error:  # whatever it is, it is what a user would see
            if self._again and self._stop.is_set() and isinstance(error, NotReady):
                return  # it would have been tried again
            with self._lock:
                self.traffic.failures[f"{type(error).__name__}: {str(error)[:200]}"] += 1
            return
        with self._lock:
            self.traffic.latencies.append(time.monotonic() - began)
            self.traffic.models.add(number)
            self.traffic.wrong += answer != [value + number] * VALUES

    def _answer(self, ask: Ask, number: int, value: float) -> list[float]:
        pause = 0.5
        while True:
            try:
                return ask(number, value)
            except NotReady:
                if self._stop.is_set() or not self._again:
                    raise
                with self._lock:
                    self.traffic.not_ready += 1
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)


def host_clients(address: str, models: Iterable[int], count: int) -> Clients:
    """Start clients of a host, or of what is before several, that never try again."""
    return Clients(lambda: host_client(address), models, count, again=False).start()


@contextmanager
def under_load(address: str, models: Iterator[int], count: int) -> Iterator[Traffic]:
    """Have clients call all the while: 30 requests before what happens here, and 60 after it."""
    clients = host_clients(address, models, count)
    try:
        wait_until(lambda: clients.traffic.answered >= 30, _SECONDS)
        yield clients.traffic
        before = clients.traffic.answered
        wait_until(lambda: clients.traffic.answered >= before + 60, _SECONDS)
    finally:
        clients.stop()
