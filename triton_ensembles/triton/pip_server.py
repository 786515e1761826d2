"""Facts of the tritonserver that pip installs on this machine, nvidia-pytriton's; ``server/`` installs and runs it.

Only the standard library is imported: before anything is installed, ``make`` asks which Python may run it.
"""

import platform
import sys

VERSION = "2.51.0"
STUB = "triton_python_backend_stub"  # the process that runs a Python model; one in the model's folder is preferred
STUB_PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
"""The Pythons that the wheel has stubs for."""


def server_python() -> str:
    """The Python minor version of the stubs of a server unless another is chosen: the running one, such as "3.11"."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def glibc_version() -> tuple[int, ...]:
    """(2, 36) on Debian 12; empty when the C library is not glibc."""
    name, version = platform.libc_ver()
    return tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" else ()
