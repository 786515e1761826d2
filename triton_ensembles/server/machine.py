"""Check that this machine can run the server, before anything is downloaded and so only with the standard library.

    python3 -m triton_ensembles.server.machine      prints the Python for .venv: this one, or another that is found or
                                                    that uv installs

The wheel of tritonserver 2.51.0 is tagged manylinux_2_35_x86_64: it needs Linux on x86-64 and glibc 2.35. Its Python
stubs load ``libpython3.X.so.1.0`` from the system, so the interpreter must have been built with a shared library.
"""

import platform
import sys
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import IS_CHECKOUT
from triton_ensembles.server.interpreter import find_interpreter, install_interpreter, running_interpreter
from triton_ensembles.triton.pip_server import glibc_version

OLDEST_GLIBC = (2, 35)
PYTHONS = ((3, 11), (3, 12))  # numpy 1.26, which Triton 2.51.0 needs, has no wheel for 3.13


def check_machine() -> None:
    """Raise :class:`EnsembleError` for the first requirement that this machine does not meet, with the fix."""
    _check_platform()
    if sys.version_info[:2] not in PYTHONS:
        cure = "use one of them, or let uv get one: uvx --python 3.12 --from 'WHEEL[serve]' triton-ensembles …"
        if IS_CHECKOUT:
            cure = "remove .venv, and run: make setup, which finds one of them, or gets one with uv"
        version = f"{platform.python_version()} ({sys.executable})"
        raise EnsembleError(f"Python 3.11 or 3.12 is needed, but this is {version}", cure=cure)
    running_interpreter()


def python_to_use() -> Path:
    """The Python for the virtual environment of a checkout: the running one, or else a 3.12 or 3.11 with a shared
    library, which uv installs where there is none. Raises :class:`EnsembleError` as :func:`check_machine`."""
    _check_platform()
    if sys.version_info[:2] in PYTHONS:
        running_interpreter()
        return Path(sys.executable)
    newest_first = [".".join(map(str, minor)) for minor in reversed(PYTHONS)]
    for minor in newest_first:
        if interpreter := find_interpreter(minor):
            return interpreter.executable
    install_interpreter(newest_first[0], progress=lambda line: print(line, file=sys.stderr))  # noqa: T201
    return next(found.executable for minor in newest_first if (found := find_interpreter(minor)))


def _check_platform() -> None:
    system, processor = platform.system(), platform.machine()
    if (system, processor) != ("Linux", "x86_64"):
        message = f"tritonserver's wheel is for Linux on x86-64, but this is {system} on {processor}"
        cure = "use a Linux x86-64 machine or virtual machine (Ubuntu 22.04, Debian 12 or newer)"
        raise EnsembleError(message, cure=cure)
    glibc = glibc_version()
    if glibc < OLDEST_GLIBC:
        libc = ".".join(map(str, glibc)) if glibc else "another C library"
        cure = "use Ubuntu 22.04, Debian 12 or newer"
        raise EnsembleError(f"tritonserver needs glibc 2.35 or newer, but this machine has {libc}", cure=cure)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{python_to_use()}\n")
    except EnsembleError as error:
        sys.exit(f"error: {error}")
