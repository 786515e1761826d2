"""The local endpoints that tests may share: a process of the run's own, and one that runs already."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Self
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.running import RunningEndpoint
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked
from triton_ensembles.pytest_plugin.contents import Contents

_HOSTS = ("127.0.0.1", "localhost", "::1")  # the only ones that a local endpoint answers


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


class SharedEndpoint(RunningEndpoint):
    """An endpoint that runs already. One test at a time has it, of all workers and runs on this machine. Raises
    :class:`EnsembleError`: the URL is not one of this machine."""

    def __init__(self, url: str, region: str) -> None:
        if urlsplit(url).hostname not in _HOSTS or urlsplit(url).scheme != "http":
            message = f"{url} is not the URL of a local endpoint: tests must not reach AWS"
            cure = "give that which `triton-ensembles endpoint` prints, such as http://127.0.0.1:8080"
            raise EnsembleError(message, cure=cure)
        super().__init__(url.rstrip("/"), region)
        name = hashlib.sha256(self.url.encode()).hexdigest()[:16]
        self._lock = Path(tempfile.gettempdir()) / f"triton-ensembles-pytest-{name}.lock"

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Remove, at the end of this block, what was created in it; what was there before stays. Raises
        :class:`EnsembleError`: no endpoint answers."""
        __tracebackhide__ = True
        with locked(self._lock):
            contents = Contents(self)
            try:
                before = contents.listed()
            except BotoCoreError as error:
                cure = "start it with `triton-ensembles endpoint`, or give its URL with --sagemaker-endpoint-url"
                raise EnsembleError(f"no endpoint answers at {self.url}", cure=cure) from error
            yield
            contents.remove_others(before)
