"""Why pip downloads no wheels, in one sentence, from what it has printed."""

import re
from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError
from triton_ensembles.ground.spelling import most_of

_MISSING = re.compile(
    r"Could not find a version that satisfies the requirement (?P<requirement>.+?) "
    r"(?:\(from (?!versions)(?P<parents>.*?)\) )?\(from versions: (?P<versions>.*)\)"
)
_UNREACHED = re.compile(r"WARNING: Retrying \(|Could not fetch URL|There was a problem confirming the ssl certificate")
_CONFLICT = re.compile(r"The conflict is caused by:\n(?P<lines>(?:    .+\n)+)")
_CAUSE = re.compile(
    r"(?P<package>\S+) \S+ depends on .+|The user requested (?P<limits>\(constraint\) )?(?P<name>[\w.-]+).*"
)
_OTHER_HASH = re.compile(r"DO NOT MATCH THE HASHES.*\n\s+(?P<requirement>\S+)")


class WheelError(EnsembleError):
    """No set of wheels has what was asked for. ``packages`` are the names that it is about, the requested one last."""

    def __init__(self, message: str, packages: Sequence[str], cure: str = "") -> None:
        super().__init__(message, cure=cure)
        self.packages = tuple(canonicalize_name(name) for name in packages)


def reason_of(error: ProgramError) -> str:
    """Return the reason of a failure of pip in a few words: its own, where no others are known."""
    if other := _OTHER_HASH.search(error.output):
        return f"the file of {other['requirement']} for this Python has another hash"
    return "it cannot reach the index" if _UNREACHED.search(error.output) else error.reason


def explained(error: ProgramError, requirements: Sequence[str], python: str, glibc: tuple[int, ...]) -> EnsembleError:
    """Return the error for a user who asked for ``requirements``, for a Python and a glibc."""
    if not _UNREACHED.search(error.output):
        if missing := _MISSING.search(error.output):
            return _no_wheel(missing, python, glibc)
        if conflict := _CONFLICT.search(error.output):
            return _contradiction([line.strip() for line in conflict["lines"].splitlines()])
    message = f"pip cannot download wheels of {', '.join(requirements)}: {reason_of(error)}"
    return EnsembleError(message, cure="check it with `pip config list`; what was installed once needs no index")


def _no_wheel(missing: re.Match[str], python: str, glibc: tuple[int, ...]) -> WheelError:
    requirement, versions = missing["requirement"], _released(missing["versions"].split(", "))
    parents = missing["parents"].split("->") if missing["parents"] else []
    names = [Requirement(text).name for text in (requirement, *parents)]
    request = f"{requirement} (which {names[1]} requires)" if parents else requirement
    message = f"no wheel brings {request} for Python {python} and glibc {'.'.join(map(str, glibc))}"
    if versions:
        return WheelError(message, names, f"ask for a version that has one: the newest are {most_of(versions[-3:])}")
    cure = f"build one with `pip wheel {names[0]}` under that Python, and name its file"
    return WheelError(message, names, cure if parents else f"if the name is right, {cure}")


def _released(texts: Sequence[str]) -> list[str]:
    """The versions without those that pip takes only where nothing else is asked for; all, if there are no others."""
    versions = []
    for text in texts:
        try:
            versions.append(Version(text))
        except InvalidVersion:  # "none"
            continue
    return [str(version) for version in versions if not version.is_prerelease] or [*map(str, versions)]


def _contradiction(lines: Sequence[str]) -> WheelError:
    """``lines`` are pip's, one for each version of a package that it has tried, the newest first."""
    causes: dict[str, str] = {}
    asked: list[str] = []
    for line in lines:
        if not (cause := _CAUSE.fullmatch(line)):
            continue
        name, written = cause["package"] or cause["name"], line.partition(";")[0]
        words = "the steps need " if cause["limits"] else "you ask for "
        causes.setdefault(f"{name} {cause['limits']}", re.sub(r"The user requested (\(constraint\) )?", words, written))
        asked += [] if cause["limits"] else [name]
    names = list(dict.fromkeys(reversed(asked)))
    message = f"these requirements contradict each other: {'; '.join(causes.values()) or '; '.join(lines)}"
    return WheelError(message, names, f"change the version of {' or '.join(names)}" if names else "change the versions")
