"""The loop of ``serve --watch``: looks twice a second, waits until nothing changes any more, and then reloads."""

import threading
import time
from collections.abc import Sequence
from typing import Self

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.system_errors import explained
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.watching.reload import Reloader, StuckError
from triton_ensembles.serving.watching.snapshot import Snapshot, snapshot
from triton_ensembles.serving.watching.source import WatchedSource

_SECONDS = 0.5
_PAUSES = 10  # looks may take a tenth of a core: a repository may have ten thousands of files


EXPLICIT_MODE = ("--model-control-mode=explicit", "--exit-timeout-secs=2", "--load-model=*")
"""Flags of tritonserver, which otherwise takes no requests to load a model. After a load that failed, it would wait at
its end for as long as it may."""


class Watched:
    """Last look of one source, and the repository that is served from it: to be made before the server loads it, since
    what changes while it does would otherwise never be seen."""

    def __init__(self, source: WatchedSource) -> None:
        self.source = source
        self.served: Snapshot = snapshot(source.repository)
        self._taken = self._seen = self._written()

    def has_settled(self) -> bool:
        """Return whether there is a change since the last one that was taken, and nothing has changed since the last
        look."""
        before, self._seen = self._seen, self._written()
        if self._seen == self._taken or self._seen != before:
            return False
        self._taken = self._seen
        return True

    def _written(self) -> list[Snapshot]:
        return [snapshot(path) for path in self.source.written()]


class Watch:
    """Watches sources for ``server`` in a thread of its own, as a context manager.

    Attributes:
        failure: a fault of this program that has ended the thread.
        needs_server: why only another server can load what has changed; "" as long as this one can.
    """

    def __init__(self, watched: Sequence[Watched], server: TritonServer, say: Progress) -> None:
        self._watched = watched
        self._reloader = Reloader(server, self._report)
        self._server, self._say = server, say
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None
        self.needs_server = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching, without waiting: a load that is under way ends with the server."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            pause = _SECONDS
            while not self._stopped.wait(pause):
                began = time.thread_time()
                for each in self._watched:
                    self._look(each)
                pause = max(_SECONDS, _PAUSES * (time.thread_time() - began))
        except StuckError as error:
            self.needs_server = str(error)
        except BaseException as error:
            if not self._stopped.is_set() and self._server.alive():
                self.failure = error

    def _report(self, line: str) -> None:
        if not self._stopped.is_set():
            self._say(line)

    def _look(self, watched: Watched) -> None:
        if not watched.has_settled():
            return
        try:
            watched.source.refresh()
        except (EnsembleError, OSError) as caught:
            error = explained(caught) if isinstance(caught, OSError) else caught
            self._report(f"not reloaded: {error or caught}")
            return
        before, now = watched.served, snapshot(watched.source.repository)
        watched.served = now
        self._reloader.reload(watched.source, before, now)
