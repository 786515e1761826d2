"""The names that an ensemble can have: in Triton, in SageMaker, in a file system and on a command line."""

import re

from triton_ensembles.ground.errors import EnsembleError

_LONGEST = 100  # letters: the names of its files, its steps and its archives begin with it
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")
_ARCHIVE = ".tar.gz"
_FORM = "use letters, digits, '.', '-' and '_'"


def check_name(name: str) -> None:
    """Raises :class:`EnsembleError` for a name that no ensemble can have: the stubs of Python steps are started by a
    shell command that has it, they decode it as ASCII, clients use it in a URL, SageMaker as a part of TargetModel."""
    if reason := _fault(name):
        meant = suggestion(name)
        cure = _FORM + (f"; {meant!r} would do" if meant else "")
        raise EnsembleError(f"{name!r} cannot be the name of an ensemble: {reason}", cure=cure)


def suggestion(text: str) -> str:
    """A valid name that is like ``text``, or ""."""
    name = re.sub(r"_{2,}", "_", _STRANGE.sub("_", text)).lstrip(".-").removesuffix(_ARCHIVE)[:_LONGEST].rstrip("_")
    return name if name and _fault(name) is None else ""


def module_name(name: str) -> str:
    """``name`` as a part of the name of a Python module."""
    return re.sub(r"\W", "_", name)


def _fault(name: str) -> str | None:
    if not name:
        return "it is empty"
    if strange := _STRANGE.search(name):
        return f"it contains {strange.group()!r}, which the shell that starts Python steps, or a URL, does not take"
    if name[0] in ".-":
        return f"it begins with {name[0]!r}, as hidden files and options do"
    if len(name) > _LONGEST:
        return f"it is longer than {_LONGEST} letters, and the names of files and steps begin with it"
    if name.endswith((_ARCHIVE, ".tgz")):
        return "it ends as an archive does"
    return None
