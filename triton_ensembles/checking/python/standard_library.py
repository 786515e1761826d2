"""The standard library of each Python that Triton's images have, on Linux: the names of its top-level modules."""

import sys
from functools import cache

from triton_ensembles.triton.releases import version

# docs.python.org, "What's New" of each version; compared with sys.stdlib_module_names of 3.8 to 3.12.
_SINCE = {"graphlib": (3, 9), "zoneinfo": (3, 9), "tomllib": (3, 11), "annotationlib": (3, 14), "compression": (3, 14)}
_UNTIL = {
    **dict.fromkeys(("_bootlocale", "dummy_threading"), (3, 9)),
    **dict.fromkeys(("formatter", "parser", "symbol"), (3, 10)),
    **dict.fromkeys(("binhex",), (3, 11)),
    **dict.fromkeys(("asynchat", "asyncore", "distutils", "imp", "smtpd"), (3, 12)),
    **dict.fromkeys(
        (
            *("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "lib2to3", "mailcap", "nis", "nntplib"),
            *("ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib"),
        ),
        (3, 13),
    ),
}
_NOT_ON_LINUX = frozenset(
    {"_msi", "_overlapped", "_scproxy", "_winapi", "msilib", "msvcrt", "nt", "winreg", "winsound"}
)
_ALL = (frozenset(sys.stdlib_module_names) | _SINCE.keys() | _UNTIL.keys()) - _NOT_ON_LINUX


@cache
def standard_library(python: str = "") -> frozenset[str]:
    """The modules of a minor version (``3.12``), or those that any version has."""
    if not python:
        return _ALL
    has = version(python)
    return frozenset(name for name in _ALL if _SINCE.get(name, has) <= has < _UNTIL.get(name, (*has, 1)))
