"""The local endpoint that the tests of a run share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Self

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.running import RunningEndpoint
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.pytest_plugin.contents import Contents


class OwnEndpoint(RunningEndpoint):
    """The process of this run, as a context manager. It is replaced when it has ended, or cannot be emptied. Its
    working folders are in ``root``; ``options`` are those of the command ``endpoint``."""

    def __init__(self, root: Path, *options: str, region: str) -> None:
        super().__init__("", region)
        self._root = root
        self._options = options
        self._started = 0
        self._local: LocalEndpoint | None = None

    @property
    def pid(self) -> int | None:
        """None while it does not run."""
        return self._local.pid if self._local and self._local.alive() else None

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Remove, at the end of this block, what was created in it."""
        __tracebackhide__ = True
        if self.pid is None:
            self._start()
        contents = Contents(self)
        before = contents.listed()
        yield
        if self.pid is not None:
            try:
                contents.remove_others(before)
            except (BotoCoreError, ClientError):
                self._stop()

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        self._started += 1
        __tracebackhide__ = True
        # A folder of its own: the processes of one that was killed may still be ending in the other.
        local = LocalEndpoint(self._root / str(self._started), *self._options, region=self.region)
        try:
            self._local = local.start()
        except EnsembleError as error:
            raise error.with_traceback(None) from None  # without our own lines: its message says it all
        self.url = local.url

    def _stop(self) -> None:
        local, self._local = self._local, None
        if local is not None and local.alive():
            with suppress(TimeoutExpired):
                local.stop()
