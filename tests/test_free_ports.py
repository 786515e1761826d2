"""Ports that are chosen long before they are bound."""

from __future__ import annotations

import random
import socket
import sys

from tests.commands import running
from triton_ensembles.free_ports import free_port
from triton_ensembles.server import LOOPBACK

CHOOSE = """
import random
from triton_ensembles.free_ports import free_port
random.seed(13)
print(free_port("127.0.0.1"))
"""


def test_two_processes_that_would_choose_the_same_port_do_not() -> None:
    """If this fails, two servers that start at the same time now and then want one port."""
    before = random.getstate()
    try:
        random.seed(13)
        mine = free_port(LOOPBACK)
    finally:
        random.setstate(before)
    with running(sys.executable, "-c", CHOOSE) as process:
        theirs = int(process.communicate()[0])
    assert theirs != mine
    with socket.create_server((LOOPBACK, mine)), socket.create_server((LOOPBACK, theirs)):
        pass
