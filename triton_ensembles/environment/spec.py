"""What an environment file asks for.

The file is conda's own ``environment.yml``: ``name``, ``channels``, ``dependencies`` (match specifications and one
``pip:`` list). conda and mamba read it themselves; the other providers need it parsed, and everybody needs its faults
found before minutes of solving.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from triton_ensembles.errors import EnsembleError

_FIELDS = ("name", "channels", "dependencies")
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
    """One conda match specification, such as ``numpy=2.4.6``.

    ``written`` is the text of the file; ``version`` is its constraint in conda's words (``"=2.4.6"``; empty: any).
    """

    name: str
    version: str
    written: str
    line: int

    @property
    def pip_requirement(self) -> str:
        """The same wish in pip's words. conda's ``=2.4`` means "2.4 and everything below it", pip's ``==2.4.*``; a bare
        version after a blank is exact. Channel and build string name a conda build and have no counterpart."""
        return self.name + ",".join(_pip_clause(clause.strip()) for clause in self.version.split(",") if clause.strip())


@dataclass(frozen=True)
class EnvironmentSpec:
    """A parsed environment file.

    ``python`` is a minor version (``"3.11"``), or None where the file leaves it to whoever builds.
    ``packages`` leaves ``python`` and ``pip`` out; ``conda_specs`` is every match specification as written. ``text``
    is what the file says. ``exactly``: no other Python will do.
    """

    path: Path
    text: str
    name: str
    python: str | None
    packages: tuple[Package, ...]
    channels: tuple[str, ...]
    pip_packages: tuple[str, ...]
    conda_specs: tuple[str, ...]
    exactly: bool = False

    def for_python(self, minor: str, *, exactly: bool) -> EnvironmentSpec:
        """The same wishes for another Python (``"3.10"``)."""
        pinned = f"python={minor}"
        specs = [pinned if re.match(r"python(?![\w.-])", spec) else spec for spec in self.conda_specs]
        text = re.sub(
            r"(?m)^(\s*-\s*)([\"']?)python(?![\w.-])[^#\n\"']*?\2(\s*(#.*)?)$", rf"\g<1>{pinned}\g<3>", self.text
        )
        if pinned not in specs:
            specs.insert(0, pinned)
            text = re.sub(r"(?m)^(dependencies:\s*)$", rf"\g<1>\n  - {pinned}", text)
        return replace(self, text=text, python=minor, conda_specs=tuple(specs), exactly=exactly)

    @property
    def pip_requirements(self) -> tuple[str, ...]:
        """All packages in pip's words, in the order of the file."""
        return tuple(package.pip_requirement for package in self.packages) + self.pip_packages


def read_environment_file(path: Path) -> EnvironmentSpec:
    """Read ``path``; an :class:`EnsembleError` names the line of the first fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise EnsembleError(
            "there is no such environment file", path=path, cure="write one, or correct the recipe's `environment`"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise EnsembleError(f"the environment file can't be read: {error}", path=path) from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise EnsembleError(f"this is not YAML: {error.problem or error.context}", path=path, line=line) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise EnsembleError(f"this is not YAML: {' '.join(str(error).split())}", path=path) from error
    return _Reader(path, text).read(root)


class _Reader:
    """Walks the YAML nodes, which know their lines, instead of plain values, which don't."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.written = text

    def fault(self, message: str, node: yaml.Node | None, cure: str = "") -> EnsembleError:
        line = node.start_mark.line + 1 if node is not None else None
        return EnsembleError(message, path=self.path, line=line, cure=cure)

    def read(self, root: yaml.Node | None) -> EnvironmentSpec:
        if not isinstance(root, yaml.MappingNode):
            raise self.fault("an environment file is a mapping with name, channels and dependencies", root)
        fields: dict[str, yaml.Node] = {}
        for key, value in root.value:
            name = self.text(key, "a field's name")
            if name not in _FIELDS:
                raise self.fault(
                    f"the field {name!r} has no effect in a packed environment", key, f"keep {', '.join(_FIELDS)}"
                )
            if name in fields:
                raise self.fault(f"the field {name!r} is there twice", key)
            fields[name] = value
        if "dependencies" not in fields:
            raise self.fault("there are no dependencies", root, "add `dependencies:` with python and the packages")
        channels = tuple(self.text(node, "a channel") for node in self.items(fields.get("channels"), "channels"))
        packages, pip_packages = self.dependencies(fields["dependencies"])
        name = self.text(fields["name"], "the name") if "name" in fields else self.path.stem
        return EnvironmentSpec(
            path=self.path,
            text=self.written,
            name=name,
            python=self.python(packages),
            packages=tuple(package for package in packages if package.name not in ("python", "pip")),
            channels=channels or ("conda-forge",),
            pip_packages=pip_packages,
            conda_specs=tuple(package.written for package in packages),
        )

    def dependencies(self, node: yaml.Node) -> tuple[list[Package], tuple[str, ...]]:
        packages: list[Package] = []
        pip_packages: list[str] = []
        for item in self.items(node, "dependencies"):
            if isinstance(item, yaml.MappingNode):
                pip_packages += self.pip_section(item)
                continue
            package = self.package(item)
            if any(package.name == other.name for other in packages):
                raise self.fault(f"{package.name} is there twice", item, "keep one of the lines")
            packages.append(package)
        return packages, tuple(pip_packages)

    def package(self, node: yaml.Node) -> Package:
        written = self.text(node, "a dependency")
        found = _MATCH.fullmatch(written)
        if not found:
            raise self.fault(f"{written!r} is no conda match specification", node, "write it as `numpy=2.4.6`")
        version = (found["version"] or "").replace(" ", "") or (f"=={found['bare']}" if found["bare"] else "")
        return Package(found["name"].lower(), version, written, node.start_mark.line + 1)

    def pip_section(self, node: yaml.MappingNode) -> list[str]:
        if [self.text(key, "a key") for key, _ in node.value] != ["pip"]:
            raise self.fault("the only section inside dependencies is `pip:`", node)
        requirements = []
        for item in self.items(node.value[0][1], "pip"):
            written = self.text(item, "a pip requirement")
            try:
                Requirement(written)
            except InvalidRequirement as error:
                raise self.fault(
                    f"{written!r} is no pip requirement",
                    item,
                    "write `name==version`; options and editable installs can't be packed",
                ) from error
            requirements.append(written)
        return requirements

    def python(self, packages: list[Package]) -> str | None:
        for package in packages:
            if package.name == "python" and package.version:
                found = _ONE_MINOR.fullmatch(package.version)
                if not found:
                    raise EnsembleError(
                        f"{package.written!r} doesn't name one minor version, and Triton's stub is built for one",
                        path=self.path,
                        line=package.line,
                        cure="write `python=3.11`",
                    )
                return found[1]
        return None

    def items(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.fault(f"{what} is a list", node, "begin each line with `- `")
        return list(node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip():
            raise self.fault(f"{what} is a plain text", node)
        return str(node.value).strip()


def _pip_clause(clause: str) -> str:
    """``=2.4``, ``=2.4.*`` and ``2.4*`` -> ``==2.4.*``; ``==2.4.6`` stays; so do ``>=`` and its family."""
    if clause.startswith(("==", "!=", ">", "<", "~")):
        return clause
    bare = clause.lstrip("=").rstrip("*").rstrip(".")
    return f"=={bare}.*" if bare else ""
