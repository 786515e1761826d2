"""The Dockerfile beside a model repository: the image that it begins with, and the Python packages that it installs.

Nothing is run. What cannot be told from its text, such as a script, is said to be unread.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from triton_ensembles.ground.errors import shown
from triton_ensembles.triton.requirements import Requirements, beside

_PATTERNS = ("Dockerfile", "Containerfile", "Dockerfile*", "*.Dockerfile", "*.dockerfile", "docker/Dockerfile*")
_MOST_FILES = 20  # Dockerfiles of one folder
_LONGEST = 1 << 18  # bytes of a Dockerfile
_LEVELS = 3  # above the repository, outside of git
_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)")
_INSTALL = re.compile(r"(?:uv |python[\d.]* -m )?pip[\d.]* install ")
_PACKAGE_FOLDERS = ("packages", "python", "venv", "/usr/local", "/install", "/root")  # that another stage may have
# Commands that may install packages and do not name them.
_OPAQUE = re.compile(r"(\S*\.sh|poetry|pipenv|pdm|make|setup\.py|easy_install|conda|mamba|micromamba|uv|git)(\s|$)")
# Of Debian: what has no module, and comes with Python.
_NO_MODULE = frozenset(("pip", "dev", "venv", "setuptools", "wheel", "distutils", "minimal", "full"))


@dataclass(frozen=True)
class Dockerfile:
    """Where it is, and what its last stage on an image of Triton has.

    Attributes:
        path: as people see it.
        line: of its FROM.
        image: the name after FROM, such as ``nvcr.io/nvidia/tritonserver:24.09-py3``.
        packages: the distributions that it installs, by their normal names.
        unread: the place of the first line that may install others; "" for none.
        asked: what it asks pip for.
    """

    path: str
    line: int
    image: str
    packages: frozenset[str] = frozenset()
    unread: str = ""
    asked: Requirements = field(default_factory=Requirements, compare=False)


def dockerfile_of(path: Path) -> Dockerfile | None:
    """The Dockerfile on an image of Triton nearest to ``path``, a repository or an archive: in its folder or above, up
    to the root of its git repository. None if there is none, or it cannot be read."""
    for folder in _upward(path.resolve()):
        try:
            candidates = dict.fromkeys(file for pattern in _PATTERNS for file in sorted(folder.glob(pattern)))
            for file in list(candidates)[:_MOST_FILES]:
                if file.is_file() and file.stat().st_size <= _LONGEST and (read := read_dockerfile(file)):
                    return read
        except OSError:
            continue
    return None


def read_dockerfile(path: Path) -> Dockerfile | None:
    """The Dockerfile at ``path``; None if none of its stages is on an image with ``tritonserver`` in its name,
    other than the clients' (``-sdk``)."""
    text = path.read_text(encoding="utf-8", errors="replace")
    stages = _Reader(path).stages(text) if "tritonserver" in text else []
    on_triton = [stage for stage in stages if "tritonserver" in stage.image and "-sdk" not in stage.image]
    return on_triton[-1] if on_triton else None


def _upward(path: Path) -> Sequence[Path]:
    folders = [path, *path.parents] if path.is_dir() else list(path.parents)
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), _LEVELS)
    return [folder for folder in folders[: root + 1] if folder.parent != folder]


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, the keyword and the rest of each instruction, with its continuations."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    written = ((number, line) for number, line in lines if line and not line.startswith("#"))
    for number, line in written:
        while line.endswith("\\"):
            line = f"{line[:-1]} {next(written, (0, ''))[1]}"
        keyword, _, arguments = line.partition(" ")
        yield number, keyword.upper(), arguments.strip()


@dataclass
class _Reader:
    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)  # the sources of COPY and ADD

    def stages(self, text: str) -> list[Dockerfile]:
        stages: list[_Stage] = []
        names: list[str] = []
        for line, keyword, arguments in _instructions(text):
            if keyword == "FROM":
                image, *alias = [word for word in self._filled(arguments).split() if not word.startswith("--")] or [""]
                is_stage = image.lower() in names
                stages.append(stages[names.index(image.lower())].copy() if is_stage else self._stage(line, image))
                names.append(alias[-1].lower() if alias else "")
            elif keyword in ("ARG", "ENV"):
                self._define(arguments)
            elif stages and keyword in ("COPY", "ADD", "RUN"):
                is_read = self._run(arguments, stages[-1]) if keyword == "RUN" else self._copy(arguments)
                stages[-1].unread = stages[-1].unread or ("" if is_read else f"{shown(self.path)}:{line}")
        return [
            Dockerfile(shown(self.path), stage.line, stage.image, stage.packages, stage.unread, stage.asked)
            for stage in stages
        ]

    def _stage(self, line: int, image: str) -> "_Stage":
        return _Stage(line, image, Requirements(self._found))

    def _filled(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            return self.variables.get(match[1] or match[3]) or match[2] or match[0]

        return _VARIABLE.sub(value, text)

    def _define(self, arguments: str) -> None:
        words = _words(arguments)
        if words and "=" not in words[0] and len(words) > 1:  # ENV NAME value
            words = [f"{words[0]}={' '.join(words[1:])}"]
        for word in words:
            name, equals, value = word.partition("=")
            if equals:
                self.variables[name] = self._filled(value)

    def _copy(self, arguments: str) -> bool:
        """Return whether no packages come with it: those of another stage or image are not looked for."""
        if "--from=" in arguments:
            return not any(part in arguments for part in _PACKAGE_FOLDERS)
        self.copied += [word for word in _words(self._filled(arguments)) if not word.startswith("--")][:-1]
        return True

    def _run(self, arguments: str, stage: "_Stage") -> bool:
        """Add what the commands install; whether that is all. The lines of a here-document are not read."""
        is_read = "<<" not in arguments
        commands = arguments if not arguments.startswith("[") else " ".join(re.findall(r'"([^"]*)"', arguments))
        for command in re.split(r"&&|\|\||[;|]", self._filled(commands)):
            words = _words(command)
            while words and (words[0].startswith("--") or re.match(r"\w+=", words[0]) or words[0] in ("sudo", "set")):
                words = words[1:]
            is_read &= self._command(words, stage)
        return is_read

    def _command(self, words: list[str], stage: "_Stage") -> bool:
        names = [word.rpartition("/")[2] for word in words]
        if install := _INSTALL.match(" ".join(names)):
            before = stage.asked.unread
            stage.asked.unread = ""
            stage.asked.add_words(words[len(install[0].split()) :], self.path.parent)
            is_read = not stage.asked.unread
            stage.asked.unread = before or stage.asked.unread
            return is_read
        if names[:1] in (["apt"], ["apt-get"]):
            debian = [name.removeprefix("python3-") for name in names if name.startswith("python3-")]
            stage.of_debian.update(canonicalize_name(name) for name in debian if name not in _NO_MODULE)
            return True
        return not any(_OPAQUE.match(f"{name} ") for name in names[:2]) or names[:2] == ["git", "lfs"]

    def _found(self, written: str, folder: Path) -> Path | None:
        """The file that the image has at ``written``: the build context is the Dockerfile's folder, or one above."""
        name = written.rpartition("/")[2]
        copied = [source if source.rpartition("/")[2] == name else f"{source}/{name}" for source in self.copied]
        for base in dict.fromkeys((folder, *_upward(self.path.parent))):
            for path in (written, name, *copied) if name else ():
                if file := beside(path.lstrip("/"), base):
                    return file
        return None


@dataclass
class _Stage:
    line: int
    image: str
    asked: Requirements
    of_debian: set[str] = field(default_factory=set)
    unread: str = ""

    @property
    def packages(self) -> frozenset[str]:
        return frozenset(self.asked.names | self.of_debian)

    def copy(self) -> "_Stage":
        return replace(self, asked=self.asked.copy(), of_debian=set(self.of_debian))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark without its pair
        return text.split()
