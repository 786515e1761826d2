"""Requirements of Python packages as people write them: words of ``pip install``, and files of such. Nothing is run."""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

LONGEST = 1 << 20  # bytes of a requirements file
_DEPTH = 5  # of requirements files that name others
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_ELSEWHERE = re.compile(r"[./]|git\+|https?:|file:|\S*\.whl$")  # a requirement that is a path or an address
_COMMENT = re.compile(r"(^|\s)#.*", re.MULTILINE)
_HASH = re.compile(r"\s--hash[= ]\S+")
# Options with a value. pip gets those that say where packages are.
_SHORT = {"-i": "--index-url", "-f": "--find-links"}
_INDEX = frozenset((*_SHORT, "--index-url", "--extra-index-url", "--find-links", "--trusted-host"))
_WITH_VALUE = frozenset((
    "-t", "--target", "--timeout", "--retries", "--prefix", "--platform", "--python-version", "--progress-bar",
    "--cache-dir", "--upgrade-strategy", "--no-binary", "--only-binary", "--python", "-p", "--proxy", "--index",
))  # fmt: skip
Found = Callable[[str, Path], Path | None]
"""Gives the file that is written so in a file of this folder."""


def beside(written: str, folder: Path) -> Path | None:
    """The file at a path that is relative to ``folder``, and no requirements file that is too long; None without."""
    file = folder / written
    return file if file.is_file() and (file.suffix == ".whl" or file.stat().st_size <= LONGEST) else None


@dataclass
class Requirements:
    """The packages that one or several ``pip install`` ask for.

    Attributes:
        found: finds the files of ``-r`` and ``-c``.
        names: of the packages, in their normal form.
        texts: the requirements as pip reads them, without hashes; none for a name that only a shell knows the rest of.
        pins: the lines with their hashes, of files in which every line has one.
        constraints: as pip reads them.
        options: pip's, of the indexes.
        files: that were read.
        unread: the first thing of which it cannot be told what it installs, such as a path; "" for none.
    """

    found: Found = beside
    names: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    pins: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    unread: str = ""

    def add_words(self, words: Sequence[str], folder: Path, depth: int = 0) -> None:
        """Add the arguments of an installer, whose paths are relative to ``folder``."""
        waiting = iter(words)
        for word in waiting:
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            if name in ("-r", "--requirement", "-c", "--constraint") or (word[:2] in ("-r", "-c") and len(word) > 2):
                file = value if equals else next(waiting, "") if len(word) == 2 or word[1] == "-" else word[2:]
                self._add_named(file, folder, depth, constrains="-c" in word[:3] or name == "--constraint")
            elif name in _INDEX:
                value = value if equals else next(waiting, "")
                there = folder / value  # pip reads it from the requirements file, too
                self.options.append(f"{_SHORT.get(name, name)}={there.resolve() if there.is_dir() else value}")
            elif word in _WITH_VALUE or word == "@":  # behind it is an option's value, or where the package comes from
                next(waiting, "")
            elif name in ("-e", "--editable"):
                self.unread = self.unread or f"{name} {value if equals else next(waiting, '')}"
            elif word.startswith("-"):
                continue
            else:
                self.add(word, folder)

    def add_file(self, path: Path, depth: int = 0, *, constrains: bool = False) -> None:
        """Add the lines of a requirements file, or of one of constraints."""
        text = path.read_text(encoding="utf-8-sig", errors="replace").replace("\\\n", " ")
        self.files.append(path)
        lines = [line.strip() for line in _COMMENT.sub("", text).splitlines() if line.strip()]
        for line in lines:
            if line.startswith("-"):
                self.add_words(line.split(), path.parent, depth + 1)
            elif constrains:
                self._constrain(_HASH.sub("", line).strip())
            else:
                self.add(_HASH.sub("", line).strip(), path.parent)
        own = [line for line in lines if not line.startswith("-")]
        if own and not constrains and all(_HASH.search(line) for line in own):
            self.pins += own

    def add(self, written: str, folder: Path) -> None:
        """Add one requirement; a wheel's path is relative to ``folder``."""
        if written.endswith(".whl") and (wheel := self.found(written, folder)):
            written = f"{wheel.name.partition('-')[0]} @ {wheel.resolve().as_uri()}"
        match = _NAME.match(written)
        if _ELSEWHERE.match(written) or not match:
            self.unread = self.unread or (written if written[:1] not in "<>=!~;" else "")
            return
        self.names.add(canonicalize_name(match[0]))
        try:
            Requirement(written)
            self.texts.append(written)
        except InvalidRequirement:
            self.unread = self.unread or written

    def copy(self) -> "Requirements":
        """Return the same, to which more can be added."""
        return Requirements(**{part.name: copy(getattr(self, part.name)) for part in fields(self)})

    def _constrain(self, written: str) -> None:
        try:
            Requirement(written)
            self.constraints.append(written)
        except InvalidRequirement:
            self.unread = self.unread or written

    def _add_named(self, written: str, folder: Path, depth: int, *, constrains: bool) -> None:
        path = self.found(written, folder) if written and depth < _DEPTH else None
        if path is None:
            self.unread = self.unread or written
        elif path not in self.files:
            self.add_file(path, depth, constrains=constrains)


@dataclass(frozen=True)
class Declared:
    """The packages of Python steps, as their author has declared them.

    Attributes:
        place: of the declaration, as people see it.
        asked: what is to be installed.
    """

    place: str
    asked: Requirements = field(compare=False)
    packages: frozenset[str] = frozenset()  # by their normal names

    @classmethod
    def of(cls, place: str, asked: Requirements) -> "Declared":
        return cls(place, asked, frozenset(asked.names))

    @property
    def unread(self) -> str:
        """The names of which it cannot be told what they install; "" for nothing."""
        return self.asked.unread
