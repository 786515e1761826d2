"""The exact packages of an environment: those that were found, or those that are to be installed again.

A line is pip's (``numpy==1.26.4 --hash=sha256:…``, ``mine @ https://… --hash=…``) or ``conda NAME ==VERSION BUILD``.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec

_CONDA = "conda "


@dataclass
class Pins:
    """Exact packages."""

    given: tuple[str, ...] = ()  # the lines to install, and nothing else; () for whatever is found to fit
    source: Path | None = None  # the file that they are from, if any
    found: list[str] = field(default_factory=list)  # the lines of what was installed

    @property
    def from_conda(self) -> bool:
        """Return whether the given packages are of conda's channels."""
        return any(line.startswith(_CONDA) for line in self.given)

    def pip_arguments(self, requirements: Iterable[str], folder: Path) -> list[str]:
        """The arguments for pip: ``requirements``, or exactly the given packages, which must have the given digests."""
        if not self.given:
            return list(requirements)
        file = folder / "pins.txt"
        file.write_text("".join(f"{line}\n" for line in self.given if not line.startswith(_CONDA)), encoding="utf-8")
        return ["--require-hashes", "--requirement", str(file)]

    def conda_specs(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """The match specifications of ``spec``, or exactly the given packages of conda's channels."""
        if not self.given:
            return spec.conda_specs
        return tuple(line.removeprefix(_CONDA) for line in self.given if line.startswith(_CONDA))

    def refusal(self, reason: str) -> EnsembleError:
        """Why pip did not install the given packages: they no longer exist as they were locked, or one is missing."""
        cure = "delete the lock and build again; what is found now goes into a new one"
        return EnsembleError(f"what this lock says cannot be installed: {reason}", path=self.source, cure=cure)

    def note_wheels(self, folder: Path, requirements: Iterable[str]) -> None:
        """Note the wheels that pip has downloaded to ``folder``, asked for ``requirements``."""
        named = {canonicalize_name(requirement.name): requirement.url for requirement in map(Requirement, requirements)}
        for wheel in sorted(folder.glob("*.whl")):
            name, version, _, _ = parse_wheel_filename(wheel.name)
            self.found.append(_pip_line(name, str(version), file_digest(wheel), named.get(name)))

    def note_report(self, report: Path) -> None:
        """Note what pip has installed, by its report. Raises :class:`EnsembleError`: a package is from a folder."""
        packages: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
        for package in packages:
            name, origin = package["metadata"]["name"], package["download_info"]
            if "archive_info" not in origin:
                message = f"the package {name} is no file ({origin['url']}), so that no digest can lock it"
                raise EnsembleError(message, cure="build a wheel of it, and name that file")
            url = origin["url"] if package["is_direct"] else None
            sha256 = origin["archive_info"]["hashes"]["sha256"]
            self.found.append(_pip_line(name, package["metadata"]["version"], sha256, url))

    def note_conda(self, prefix: Path) -> None:
        """Note what a provider with channels has installed into ``prefix``."""
        for file in sorted((prefix / "conda-meta").glob("*.json")):
            record = json.loads(file.read_text(encoding="utf-8"))
            self.found.append(f"{_CONDA}{record['name']} =={record['version']} {record['build']}")


def _pip_line(name: str, version: str, sha256: str, url: str | None) -> str:
    """``url``: of a package that was asked for by its address."""
    version_or_url = f" @ {url.partition('#')[0]}" if url else f"=={version}"
    return f"{canonicalize_name(name)}{version_or_url} --hash=sha256:{sha256}"
