"""TCP ports for servers that bind them later.

tritonserver binds its ports once its models are loaded, seconds after they were chosen. Until then neither the kernel
(for port 0 and for clients) nor another process of this project may hand out the same number.
"""

from __future__ import annotations

import random
import socket
from collections import deque

from triton_ensembles.errors import EnsembleError

_CANDIDATES = range(20_000, 32_000)  # below the range from which Linux takes ports of its own choice
# Sockets in Linux' abstract namespace: no files, and gone with the process. The oldest are closed for new ones.
_reservations: deque[socket.socket] = deque()
_MOST_RESERVATIONS = 64


def free_port(address: str) -> int:
    """A port of ``address`` on which nobody listens, reserved among the processes of this project.

    Raises:
        EnsembleError: all candidates are in use.
    """
    for port in random.sample(_CANDIDATES, len(_CANDIDATES)):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0triton-ensembles-port-{port}")
            socket.create_server((address, port)).close()
        except OSError:
            reservation.close()
            continue
        _reservations.append(reservation)
        if len(_reservations) > _MOST_RESERVATIONS:
            _reservations.popleft().close()
        return port
    raise EnsembleError(
        f"all ports from {_CANDIDATES.start} to {_CANDIDATES.stop - 1} of {address} are in use",
        cure="stop some of the servers that use them",
    )
