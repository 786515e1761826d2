"""The exact packages of an environment: those that were found, or those that are to be installed again.

A line is what pip takes (``numpy==1.26.4 --hash=sha256:…``), or ``conda NAME ==VERSION BUILD``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.files import file_digest

_CONDA = "conda "


@dataclass
class Pins:
    """Attributes:
    given: the lines to install, and nothing else; () for whatever is found to fit.
    found: the lines of what was installed.
    """

    given: tuple[str, ...] = ()
    found: list[str] = field(default_factory=list)

    @property
    def from_conda(self) -> bool:
        """Whether the given packages are of conda's channels."""
        return any(line.startswith(_CONDA) for line in self.given)

    def pip_arguments(self, requirements: Iterable[str], folder: Path) -> list[str]:
        """What pip is asked for: ``requirements``, or exactly the given packages, which must have the given digests."""
        if not self.given:
            return list(requirements)
        file = folder / "pins.txt"
        file.write_text("".join(f"{line}\n" for line in self.given if not line.startswith(_CONDA)), encoding="utf-8")
        return ["--require-hashes", "--requirement", str(file)]

    def conda_spec(self, spec: EnvironmentSpec) -> EnvironmentSpec:
        """``spec`` with exactly the given packages of conda's channels."""
        if not self.given:
            return spec
        specs = tuple(line.removeprefix(_CONDA) for line in self.given if line.startswith(_CONDA))
        lines = [f"name: {spec.name}", "channels:", *(f"  - {each}" for each in spec.channels), "dependencies:"]
        lines += [f"  - {each}" for each in specs]
        return replace(spec, conda_specs=specs, text="\n".join(lines) + "\n", pip_packages=())

    def note_wheels(self, folder: Path) -> None:
        """Note the wheels that pip has downloaded to ``folder``."""
        for wheel in sorted(folder.glob("*.whl")):
            name, version, _, _ = parse_wheel_filename(wheel.name)
            self.found.append(_pip_line(name, str(version), file_digest(wheel)))

    def note_report(self, report: Path) -> None:
        """Note what pip has installed, by its own report."""
        packages: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
        for each in packages:
            digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
            self.found.append(_pip_line(each["metadata"]["name"], each["metadata"]["version"], digest))

    def note_conda(self, prefix: Path) -> None:
        """Note what a provider with channels has installed into ``prefix``."""
        for file in sorted((prefix / "conda-meta").glob("*.json")):
            record = json.loads(file.read_text(encoding="utf-8"))
            self.found.append(f"{_CONDA}{record['name']} =={record['version']} {record['build']}")


def _pip_line(name: str, version: str, sha256: str) -> str:
    return f"{canonicalize_name(name)}=={version} --hash=sha256:{sha256}"
