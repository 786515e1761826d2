"""The tritonservers of a test run: one for the paths that a test names, kept until the end."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from triton_ensembles.archive.manifest import RANDOM, random_weights, read_manifest
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.served import served, server_of

Wanted = tuple[tuple[Path, ...], tuple[str, ...]]
"""The paths of a server, and its further flags."""


class Servers:
    """Value of the fixture ``triton_server``; the end of ``stopping`` stops all servers. Paths are relative
    to ``root``; ``folder`` is for logs, and for what is unpacked; ``arguments`` are further flags of every server."""

    def __init__(self, root: Path, folder: Path, arguments: Sequence[str], stopping: ExitStack) -> None:
        self._root = root
        self._folder = folder
        self._arguments = arguments
        self._running: dict[Wanted, TritonServer] = {}
        self._failed: dict[Wanted, EnsembleError] = {}
        self._stopping = stopping

    def __call__(self, *paths: str | os.PathLike[str], arguments: Sequence[str] = ()) -> TritonServer:
        """Return the server for these paths and flags. One that has ended is replaced; one that cannot start is not
        tried again. Raises :class:`EnsembleError`: there is nothing to serve, or it does not load; with Triton's
        reasons."""
        __tracebackhide__ = True
        wanted = tuple(self._root / path for path in paths), tuple(arguments)
        running = self._running.get(wanted)
        if running is not None and not running.crashed():
            return running
        if wanted not in self._failed:
            try:
                return self._start(wanted)
            except EnsembleError as error:
                self._failed[wanted] = error
        raise self._failed[wanted].with_traceback(None) from None  # without our own lines: its message says it all

    def _start(self, wanted: Wanted) -> TritonServer:
        paths, arguments = wanted
        if not paths:
            raise EnsembleError("triton_server needs a path", cure='such as triton_server("ensembles/NAME")')
        if old := self._running.pop(wanted, None):
            old.stop(at_once=True)
        sources = [served(path, self._folder, print) for path in paths]
        for source in sources:
            if read_manifest(source.repository).get("weights") == RANDOM:
                warnings.warn(pytest.PytestWarning(random_weights(source.name)), stacklevel=3)
        number = len(list(self._folder.glob("*.log"))) + 1
        log = self._folder / f"{number}-{'-'.join(source.name for source in sources)[:100]}.log"
        server = server_of(sources, arguments=[*self._arguments, *arguments], log=log)
        self._running[wanted] = self._stopping.enter_context(server)
        return server
