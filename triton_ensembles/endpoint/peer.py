"""Whether a client of the loopback interface that sends no more still wants its answer.

A client that closes its half of a connection and one that closes all of it send the same packet. But the other end is
a socket of this machine too: the kernel's table shows whether a process still has it (its inode is not 0).
"""

import socket
import sys
from pathlib import Path

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _INODE = 1, 2, 9  # columns: https://docs.kernel.org/networking/proc_net_tcp.html


def has_hung_up(client: tuple[str, int], server: tuple[str, int]) -> bool | None:
    """Whether no process has the client's socket any more; None when the table does not say."""
    ends = [_written(*client), _written(*server)]
    try:
        lines = _TABLE.read_text().splitlines()
    except OSError:
        return None
    for line in lines[1:]:
        columns = line.split()
        if columns[_LOCAL : _REMOTE + 1] == ends:
            return columns[_INODE] == "0"
    return None


def _written(host: str, port: int) -> str:
    """As the table has it: the bytes of the address as a number of this machine, in hexadecimal."""
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}"
