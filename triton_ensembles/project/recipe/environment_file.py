"""An environment file, conda's ``environment.yml``: ``name``, ``channels``, ``dependencies`` with a ``pip:`` list."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text

_LONGEST = 1 << 16  # bytes, which PyYAML takes a second for
_FIELDS = ("name", "channels", "dependencies")
_INDEX = re.compile(r"(--index-url|--extra-index-url|--find-links)[ =]\s*(\S+)")
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_CLAUSE = r"(?:===?|=|!=|~=|>=|<=|>|<)?\s*[A-Za-z0-9_.*+!]+"
_MATCH = re.compile(
    rf"(?:(?P<channel>[^\s:]+)::)?(?P<name>{_NAME})"
    rf"(?:\s*(?P<version>(?:===?|=|!=|~=|>=|<=|>|<)\s*[A-Za-z0-9_.*+!]+(?:\s*,\s*{_CLAUSE})*)"
    rf"|\s+(?P<bare>[A-Za-z0-9_.*+!]+))?"
    r"(?:(?:=|\s+)(?P<build>[A-Za-z0-9_.*]+))?"
)
_ONE_MINOR = re.compile(r"(?:==?)?\s*(3\.\d+)(?:\.\d+)?(?:\.?\*)?")


@dataclass(frozen=True)
class Package:
    """A conda match specification, such as ``numpy=2.4.6``."""

    name: str  # in lower case
    version: str  # conda's constraint, such as `"=2.4.6"`; "" for any version
    written: str  # the specification as the file has it
    line: int  # 1-based

    @property
    def pip_requirement(self) -> str:
        """The same requirement for pip: conda's ``=2.4`` is pip's ``==2.4.*``, and a bare version after a space is
        exact. Channel and build string identify a conda build and have no counterpart."""
        return self.name + ",".join(_pip_clause(clause.strip()) for clause in self.version.split(",") if clause.strip())


@dataclass(frozen=True)
class EnvironmentSpec:
    """A parsed environment file."""

    path: Path
    text: str
    name: str  # of the environment
    python: str | None  # a minor version (`"3.11"`), or None where the file does not name one
    packages: tuple[Package, ...]  # the match specifications without `python` and `pip`
    channels: tuple[str, ...]  # names or URLs
    pip_packages: tuple[str, ...]  # the requirements of the `pip:` list
    pip_options: tuple[str, ...]  # its options: `--extra-index-url`, and the address
    conda_specs: tuple[str, ...]  # every match specification as written
    exactly: bool = False  # whether no other Python than `python` may be used

    def for_python(self, minor: str, *, exactly: bool) -> EnvironmentSpec:
        """The same packages for another Python (``"3.10"``)."""
        pinned = f"python={minor}"
        specs = [pinned if re.match(r"python(?![\w.-])", spec) else spec for spec in self.conda_specs]
        specs = specs if pinned in specs else [pinned, *specs]
        return replace(self, python=minor, conda_specs=tuple(specs), exactly=exactly)

    def line_of(self, name: str) -> int | None:
        """The line of the file that asks for the package ``name``, however it is written; None if no line does."""
        for number, line in enumerate(self.text.splitlines(), 1):
            match = re.match(rf"\s*-\s*[\"']?(?:[^\s:]+::)?({_NAME})", line)
            if match and canonicalize_name(match[1]) == canonicalize_name(name):
                return number
        return None

    @property
    def pip_requirements(self) -> tuple[str, ...]:
        """All packages as requirements for pip, in their order. Raises :class:`EnsembleError`: only conda reads one."""
        return tuple(map(self._for_pip, self.packages)) + self.pip_packages

    def _for_pip(self, package: Package) -> str:
        try:
            Requirement(package.pip_requirement)
        except InvalidRequirement as error:
            message = f"{package.written!r} has a version that conda's channels may have, and pip cannot read"
            cure = "write one such as `name=1.2.3`"
            raise EnsembleError(message, path=self.path, line=package.line, cure=cure) from error
        return package.pip_requirement


def read_environment_file(path: Path) -> EnvironmentSpec:
    """Read ``path``. Raises :class:`EnsembleError`, which names the line of the first fault."""
    if not path.exists():
        message = "there is no such environment file"
        raise EnsembleError(message, path=path, cure="write one, or correct the recipe's `environment`")
    text = read_text(path, _LONGEST)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise EnsembleError(f"this is not YAML: {error.problem or error.context}", path=path, line=line) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise EnsembleError(f"this is not YAML: {' '.join(str(error).split())}", path=path) from error
    return _Reader(path, text).read(root)


class _Reader:
    """Reads YAML nodes, which know their lines, instead of plain values, which do not."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.written = text

    def fault(self, message: str, node: yaml.Node | None, cure: str = "") -> EnsembleError:
        return EnsembleError(message, path=self.path, line=node.start_mark.line + 1 if node else None, cure=cure)

    def read(self, root: yaml.Node | None) -> EnvironmentSpec:
        if not isinstance(root, yaml.MappingNode):
            raise self.fault("an environment file must be a mapping with name, channels and dependencies", root)
        fields: dict[str, yaml.Node] = {}
        for key, value in root.value:
            name = self.text(key, "a field's name")
            if name not in _FIELDS:
                message = f"the field {name!r} has no effect in a packed environment"
                raise self.fault(message, key, f"keep {', '.join(_FIELDS)}")
            if name in fields:
                raise self.fault(f"the field {name!r} appears twice", key)
            fields[name] = value
        if "dependencies" not in fields:
            raise self.fault("there are no dependencies", root, "add `dependencies:` with python and the packages")
        channels = tuple(self.text(node, "a channel") for node in self.items(fields.get("channels"), "channels"))
        packages, pip_packages, options = self.dependencies(fields["dependencies"])
        name = self.text(fields["name"], "the name") if "name" in fields else self.path.stem
        specs = tuple(package.written for package in packages)
        python = self.python(packages)
        kept = tuple(package for package in packages if package.name not in ("python", "pip"))
        channels = channels or ("conda-forge",)
        return EnvironmentSpec(self.path, self.written, name, python, kept, channels, pip_packages, options, specs)

    def dependencies(self, node: yaml.Node) -> tuple[list[Package], tuple[str, ...], tuple[str, ...]]:
        packages: list[Package] = []
        pip_packages: list[str] = []
        options: list[str] = []
        names: set[str] = set()
        for item in self.items(node, "dependencies"):
            if isinstance(item, yaml.MappingNode):
                pip_packages += self.pip_section(item, options)
                continue
            package = self.package(item)
            if package.name in names:
                raise self.fault(f"{package.name} appears twice", item, "keep one of the lines")
            names.add(package.name)
            packages.append(package)
        return packages, tuple(pip_packages), tuple(options)

    def package(self, node: yaml.Node) -> Package:
        written = self.text(node, "a dependency")
        match = _MATCH.fullmatch(written)
        if not match:
            raise self.fault(f"{written!r} is not a conda match specification", node, "write it as `numpy=2.4.6`")
        version = (match["version"] or "").replace(" ", "") or (f"=={match['bare']}" if match["bare"] else "")
        return Package(match["name"].lower(), version, written, node.start_mark.line + 1)

    def pip_section(self, node: yaml.MappingNode, options: list[str]) -> list[str]:
        """Return the requirements, and add to ``options``."""
        if [self.text(key, "a key") for key, _ in node.value] != ["pip"]:
            raise self.fault("the only section allowed inside dependencies is `pip:`", node)
        requirements = []
        for item in self.items(node.value[0][1], "pip"):
            written = self.text(item, "a pip requirement")
            if option := _INDEX.fullmatch(written):
                options.append("=".join(option.groups()))
                continue
            try:
                requirement = Requirement(written)
            except (InvalidRequirement, RecursionError) as error:
                cure = "write `name==version`; editable installs, and options but those of the index, cannot be packed"
                raise self.fault(f"{written!r} is not a pip requirement", item, cure) from error
            if requirement.url and not requirement.url.startswith(("https://", "http://", "file://")):
                cure = "build a wheel of it, and write `name @ https://…/name-1.0-py3-none-any.whl`"
                raise self.fault(f"{written!r} is no file, so that no digest can lock it", item, cure)
            requirements.append(written)
        return requirements

    def python(self, packages: list[Package]) -> str | None:
        package = next((package for package in packages if package.name == "python"), None)
        if package is None or not package.version:
            return None
        if match := _ONE_MINOR.fullmatch(package.version):
            return match[1]
        message = f"{package.written!r} does not name one minor version, but Triton's stub is built for one"
        raise EnsembleError(message, path=self.path, line=package.line, cure="write `python=3.11`")

    def items(self, node: yaml.Node | None, field: str) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.fault(f"{field} must be a list", node, "begin each line with `- `")
        return list(node.value)

    def text(self, node: yaml.Node, field: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip():
            raise self.fault(f"{field} must be plain text", node)
        return str(node.value).strip()


def _pip_clause(clause: str) -> str:
    """``=2.4``, ``=2.4.*`` and ``2.4*`` become ``==2.4.*``; ``==2.4.6`` and ``>=2`` stay."""
    if clause.startswith(("==", "!=", ">", "<", "~")):
        return clause
    bare = clause.lstrip("=").rstrip("*").rstrip(".")
    return f"=={bare}.*" if bare else ""
