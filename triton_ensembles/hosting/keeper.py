"""A parent of the process that hosts, so that whichever of the two is killed, the other one cleans up.

Processes that outlive a model become children of its tritonserver, and then of the keeper. So after a kill -9 of the
process that hosts, the keeper knows all that is left. When it is killed, that process gets SIGTERM.
"""

import os
import signal
from contextlib import suppress

from triton_ensembles.ground import processes
from triton_ensembles.server.leftovers import Leftovers

_FORWARDED = (signal.SIGINT, signal.SIGTERM)
_ROUNDS = 10  # of ending processes, which may start others meanwhile
_KILL_SECONDS = 5.0


def keep() -> None:
    """Return in a new process, which has a session of its own; this one passes signals on and exits as that one does.

    To be called before there are threads.
    """
    processes.adopt_orphans()
    processes.hide_environment()  # here and in the new process: both are above all models
    prepare = processes.die_with_parent()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # until the new process is known
    try:
        child = os.fork()
        if child == 0:
            os.setsid()  # so that a kill -9 of the process group leaves one of the two
            prepare()
            return
        for number in _FORWARDED:
            signal.signal(number, lambda number, _frame: _pass_on(child, number))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    ended, status = 0, 0
    while ended != child:
        ended, status = os.wait()  # the others are orphans
    _end_what_is_left(child)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _pass_on(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _end_what_is_left(server: int) -> None:
    """End all orphans of the process ``server`` that hosted, and remove what its tritonservers have left."""
    leftovers = Leftovers(server)
    for _ in range(_ROUNDS):
        orphans = processes.descendants(os.getpid())
        if not orphans:
            break
        for pid in orphans:
            leftovers.environments.find(pid)
        with processes.handles(orphans) as open_handles:
            processes.send(open_handles, signal.SIGKILL)
            processes.wait_for_handles(open_handles, _KILL_SECONDS)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    leftovers.remove()
    leftovers.remove_folders()
