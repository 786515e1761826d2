"""Programs of Debian's packages, unpacked into a folder: nothing is installed into the system, as any user."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from triton_ensembles.ground.files import locked
from triton_ensembles.ground.programs import output_of

_MISSING = re.compile(r"^Inst (?P<package>\S+)", re.MULTILINE)


def unpacked(folder: Path, *packages: str) -> Path:
    """``folder`` with the packages, and with those they depend on that this machine lacks.

    The lists of packages are fetched for it: an image's own are removed or old.

    Raises:
        ProgramError: there is no apt here, it reaches no server, or it has no such package.
    """
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as scratch:
                _unpack(Path(scratch), packages).rename(folder)
    return folder


def _unpack(scratch: Path, packages: tuple[str, ...]) -> Path:
    for needed in ("lists/partial", "cache/archives/partial", "packages", "root"):
        (scratch / needed).mkdir(parents=True)
    apt = ["apt-get", "--quiet", "-o", f"Dir::State::lists={scratch}/lists", "-o", f"Dir::Cache={scratch}/cache"]
    output_of([*apt, "update"])
    plan = output_of([*apt, "install", "--simulate", "--no-install-recommends", *packages])
    missing = [found["package"] for found in _MISSING.finditer(plan)]
    output_of([*apt, "download", *sorted({*packages, *missing})], cwd=scratch / "packages")
    for package in (scratch / "packages").iterdir():
        output_of(["dpkg-deb", "--extract", package, scratch / "root"])
    return scratch / "root"
