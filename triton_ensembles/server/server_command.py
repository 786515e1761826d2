"""How a tritonserver is started, and who may talk to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypedDict

from triton_ensembles.server.home import Installation
from triton_ensembles.server.ports import Ports

LOAD_THREADS = "--model-load-thread-count="
_LOAD_THREADS = 4  # Triton's default


class Reach(Enum):
    """Who may talk to the ports of a server over which clients infer (docs/security.md)."""

    PROGRAMS = "all programs: what loads demands the secret, and over HTTP what changes or reads more than an answer"
    SECRET = "what knows the secret, over TCP, as perf_analyzer needs it"
    SOCKETS = "this user, over Unix sockets"


@dataclass(frozen=True)
class ServerCommand:
    """How a tritonserver is started. ``program``: another command, which starts it with flags of its own.

    With ``contained``, models see a container's environment only: that of this process has the developer's credentials.
    """

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # in addition to that of every server
    messages: tuple[str, ...] = ()  # lines that its log begins with
    program: tuple[str, ...] = ()
    contained: bool = False

    @property
    def load_threads(self) -> int:
        """How many models it loads at a time; a load that never ends keeps one for ever."""
        given = [flag.removeprefix(LOAD_THREADS) for flag in self.arguments if flag.startswith(LOAD_THREADS)]
        return int(given[-1]) if given and given[-1].isdecimal() else _LOAD_THREADS


class ServerOptions(TypedDict, total=False):
    """The arguments of :class:`ServerProcess`."""

    ports: Ports | None  # where to listen; by default free ports, which are reserved until ``stop``
    log: Path | None  # the file for the server's log; by default a temporary one, which ``stop`` removes
    append_log: bool  # keep what is in the log
    python: str  # the minor version of the stubs' Python, such as "3.10"; by default, and for "", that of the server
    ready_seconds: float  # how long starting may take, loading of models included; by default 300
    progress: Callable[[float], None] | None  # called every five seconds of loading with the seconds so far
    home: Installation | None  # the Triton that is started; by default the one that ``setup`` has installed
