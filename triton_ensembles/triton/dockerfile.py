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

_PATTERNS = ("Dockerfile", "Containerfile", "Dockerfile*", "*.Dockerfile", "*.dockerfile", "docker/Dockerfile*")
_MOST_FILES = 20  # Dockerfiles of one folder
_LONGEST = 1 << 18  # bytes of a Dockerfile, or of a requirements file
_LEVELS = 3  # above the repository, outside of git
_DEPTH = 5  # of requirements files that name others
_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)")
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_PIP = re.compile(r"pip[\d.]*")
_PYTHON = re.compile(r"python[\d.]*")
_CONDA = ("conda", "mamba", "micromamba")
_WITH_VALUE = frozenset((
    "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "-t",
    "--target", "--timeout", "--retries", "--prefix", "--root", "--platform", "--python-version", "--progress-bar",
    "--cache-dir", "--upgrade-strategy", "--no-binary", "--only-binary", "--python", "-n", "--name", "-p", "--channel",
    "--proxy", "--cert", "--src", "--build", "--log", "--index-strategy", "--index", "-b", "--override",
))  # fmt: skip
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
    """

    path: str
    line: int
    image: str
    packages: frozenset[str] = frozenset()
    unread: str = ""


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
    if "tritonserver" not in text:
        return None
    stages = _Reader(path).stages(text)
    on_triton = [stage for stage in stages if "tritonserver" in stage.image and "-sdk" not in stage.image]
    return on_triton[-1] if on_triton else None


def _upward(path: Path) -> Sequence[Path]:
    folders = [path, *path.parents] if path.is_dir() else list(path.parents)
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), _LEVELS)
    return [folder for folder in folders[: root + 1] if folder.parent != folder]


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, the keyword and the rest of each instruction, with its continuations and here-documents."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        while written.endswith("\\"):
            following = next((text for _, text in lines if text.strip() and not text.lstrip().startswith("#")), "")
            written = f"{written[:-1]} {following.strip()}"
        if written[:3].upper() == "RUN" and (here := _HEREDOC.search(written)):
            body = []
            for _, text_line in lines:
                if text_line.strip() == here[1]:
                    break
                body.append(text_line)
            script = "\n".join(body).replace("\\\n", " ")
            written = f"{_HEREDOC.sub('', written)}\n{script}"
        keyword, _, arguments = written.partition(" ") if " " in written else written.partition("\n")
        yield number, keyword.upper(), arguments.strip()


@dataclass
class _Reader:
    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)  # the sources of COPY and ADD

    def stages(self, text: str) -> list[Dockerfile]:
        stages: list[Dockerfile] = []
        by_name: dict[str, Dockerfile] = {}
        name = ""
        for line, keyword, arguments in _instructions(text):
            if keyword == "FROM":
                words = [word for word in self._filled(arguments).split() if not word.startswith("--")]
                base = by_name.get(words[0].lower()) if words else None
                image = words[0] if words else ""
                stages.append(base or Dockerfile(shown(self.path), line, image))
                name = words[2].lower() if len(words) > 2 else str(len(stages) - 1)
            elif keyword in ("ARG", "ENV"):
                self._define(arguments)
            elif stages and keyword in ("COPY", "ADD"):
                stages[-1] = self._copy(stages[-1], arguments, line, by_name)
            elif stages and keyword == "RUN":
                stages[-1] = self._run(stages[-1], arguments, line)
            if stages:
                by_name[name] = by_name[str(len(stages) - 1)] = stages[-1]
        return stages

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

    def _copy(self, stage: Dockerfile, arguments: str, line: int, by_name: dict[str, Dockerfile]) -> Dockerfile:
        words = _words(self._filled(arguments).strip("[]").replace(",", " ") if "[" in arguments else arguments)
        source = next((word.partition("=")[2].lower() for word in words if word.startswith("--from=")), "")
        paths = [word for word in words if not word.startswith("--")]
        if not source:
            self.copied += paths[:-1]
            return stage
        if not any(part in arguments for part in ("packages", "python", "venv", "/usr/local", "/install", "/root")):
            return stage
        other = by_name.get(source)
        unread = stage.unread or (other.unread if other else f"{stage.path}:{line}")
        return replace(stage, packages=stage.packages | (other.packages if other else frozenset()), unread=unread)

    def _run(self, stage: Dockerfile, arguments: str, line: int) -> Dockerfile:
        packages = set(stage.packages)
        readable = True
        commands = arguments if not arguments.startswith("[") else " ".join(re.findall(r'"([^"]*)"', arguments))
        for command in re.split(r"&&|\|\||[;|\n]", self._filled(commands)):
            words = _words(command)
            while words and (words[0].startswith("--") or re.match(r"\w+=", words[0]) or words[0] in ("sudo", "set")):
                words = words[1:]
            readable &= self._command(words, packages)
        unread = stage.unread or ("" if readable else f"{stage.path}:{line}")
        return replace(stage, packages=frozenset(packages), unread=unread)

    def _command(self, words: list[str], packages: set[str]) -> bool:
        """Add what a command installs; whether that is all."""
        names = [word.rpartition("/")[2] for word in words]
        if names[:2] == ["uv", "pip"] or (names and _PYTHON.fullmatch(names[0]) and names[1:2] == ["-m"]):
            skipped = 1 if names[0] == "uv" else 2
            words, names = words[skipped:], names[skipped:]
        if not names:
            return True
        if _PIP.fullmatch(names[0]):
            return names[1:2] != ["install"] or self._requirements(words[2:], packages, self.path.parent)
        if names[0] in _CONDA and names[1:2] == ["install"]:
            specs = [word for word in words[2:] if not word.startswith(("python=", "python>", "python<"))]
            return self._requirements(specs, packages, self.path.parent)
        if names[0] in ("apt", "apt-get"):
            debian = [name.removeprefix("python3-") for name in names if name.startswith("python3-")]
            packages.update(canonicalize_name(name) for name in debian if name not in _NO_MODULE)
            return True
        return not any(_OPAQUE.match(f"{name} ") for name in names[:2]) or names[:2] == ["git", "lfs"]

    def _requirements(self, words: Sequence[str], packages: set[str], folder: Path, depth: int = 0) -> bool:
        """Add the requirements in the arguments of an installer, or in a line of a requirements file."""
        readable = True
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            option, equals, value = word.partition("=")
            if word in ("-r", "--requirement", "--file") or option == "--requirement" or word[:2] == "-r":
                file = value if equals else word[2:] if word[:2] == "-r" and word[2:] else (waiting or [""]).pop(0)
                readable &= self._file(file, packages, folder, depth)
            elif word in ("-e", "--editable") or word.startswith((".", "/", "git+", "http:", "https:", "file:")):
                target = (waiting or [""]).pop(0) if word.startswith("-e") or word == "--editable" else word
                name = re.search(r"#egg=([\w.-]+)", target) or re.search(r"([\w.]+)-\d[^/]*\.whl", target)
                packages.update([canonicalize_name(name[1])] if name else [])
                readable &= name is not None
            elif word.startswith("-"):
                waiting[:1] = [] if word in _WITH_VALUE else waiting[:1]
            elif match := _NAME.match(word.rpartition("::")[2]):  # conda-forge::name
                packages.add(canonicalize_name(match[0].partition("-")[0] if word.endswith(".whl") else match[0]))
                if waiting[:1] == ["@"]:
                    waiting[:2] = []
            else:
                readable &= word[:1] in "<>=!~@;" or word.startswith("#")
        return readable

    def _file(self, written: str, packages: set[str], folder: Path, depth: int) -> bool:
        path = self._found(written, folder)
        if path is None or depth == _DEPTH:
            return False
        readable = True
        text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
        for line in text.splitlines():
            line = re.sub(r"(^|\s)#(?!egg).*", "", line).strip()
            words = line.split()
            if line.startswith("-") or " @ " not in line:
                words = words if line.startswith("-") else [line.partition(";")[0].strip()] if line else []
            readable &= self._requirements(words, packages, path.parent, depth + 1)
        return readable

    def _found(self, written: str, folder: Path) -> Path | None:
        """The file that the image has at ``written``: the build context is the Dockerfile's folder, or one above."""
        name = written.rpartition("/")[2]
        relative = [written.lstrip("/"), name]
        relative += [source for source in self.copied if source.rpartition("/")[2] == name]
        relative += [f"{source.rstrip('/')}/{name}" for source in self.copied]
        for base in dict.fromkeys((folder, *_upward(self.path.parent))):
            for path in relative:
                file = base / path.lstrip("/")
                if name and file.is_file() and file.stat().st_size <= _LONGEST:
                    return file
        return None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark without its pair
        return text.split()
