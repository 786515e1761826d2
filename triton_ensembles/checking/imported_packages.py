"""The packages that the Python files of a model import from outside of it, and those that Python itself has."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from triton_ensembles.checking.python.imports import Import, imports_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, adds_folders, all_files, has_own, model_files
from triton_ensembles.checking.repository import Model
from triton_ensembles.triton.releases import version

# What the stub itself provides: python_backend r24.10 pb_stub.cc.
_OF_THE_STUB = frozenset({UTILS, "c_python_backend_utils"})
# Packages that are installed under another name than they are imported.
PROVIDERS = {
    "PIL": "pillow", "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil", "dotenv": "python-dotenv", "faiss": "faiss-cpu", "google": "protobuf",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip

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


def effect_without(module: Import) -> str:
    """The effect of an import that fails."""
    when = "when the function is called" if module.later else "and Triton does not load the model"
    unless = ", unless a folder that model.py adds to sys.path has it" if module.elsewhere else ""
    return f"ModuleNotFoundError: No module named '{module.package}', {when}{unless}"


def imported(model: Model) -> Iterator[tuple[PythonFile, Import]]:
    """The packages from outside of the model, each once: where it is needed soonest, which is when a file is loaded,
    and where nothing stands in for it."""
    first_uses: dict[str, tuple[PythonFile, Import]] = {}
    for first in model_files(model):
        for file in all_files(model, first):
            for module in imports_of(file):
                known = first_uses.get(module.package)
                if known and (known[1].later, bool(known[1].instead_of)) <= (module.later, bool(module.instead_of)):
                    continue
                is_own = any(has_own(model, first, name) for name in module.alternatives)
                if not is_own and module.package not in _OF_THE_STUB:
                    first_uses[module.package] = file, replace(module, elsewhere=adds_folders(model, first))
    yield from first_uses.values()
