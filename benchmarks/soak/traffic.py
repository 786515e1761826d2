"""Clients that call models by Zipf's law, try again what is not ready, and compare answers."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.soak.models import VALUES
from benchmarks.soak.subjects import Ask, NotReady

EXPONENT = 1.1
_LONGEST_PAUSE = 8.0  # seconds between attempts


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


def zipf(models: int, requests: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The model of each request: the n-th most popular one has a share in proportion to n ** -1.1."""
    weights = np.arange(1, models + 1, dtype=np.float64) ** -EXPONENT
    generator = np.random.default_rng(seed)
    names = generator.permutation(models)  # otherwise the popular ones would be those that were uploaded first
    drawn: np.ndarray[Any, np.dtype[np.int64]] = names[generator.choice(models, requests, p=weights / weights.sum())]
    return drawn


class Clients:
    """``count`` threads, each with a client of its own; they share the requests, in order."""

    def __init__(self, client: Callable[[], Ask], models: np.ndarray[Any, np.dtype[np.int64]], count: int):
        self.traffic = Traffic()
        self._client = client
        self._models = iter(models.tolist())
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let running requests end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

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
            if self._stop.is_set() and isinstance(error, NotReady):
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
                if self._stop.is_set():
                    raise
                with self._lock:
                    self.traffic.not_ready += 1
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
