"""Archives to deploy: what their manifests say, and which of them are refused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.archive.budget import ArchiveError
from triton_ensembles.archive.manifest import MANIFEST, PRETRAINED, PROVIDED, RANDOM, random_weights
from triton_ensembles.archive.tar_stream import TarStream
from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.formats.text import error_lines, summary
from triton_ensembles.checking.repository import Repository
from triton_ensembles.deploy.keys import SUFFIX, archive_key
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.files import file_digest, parse_json
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.triton.destination import Destination

_LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True)
class Archive:
    """An archive, as a TargetModel.

    Attributes:
        name: the file's name without .tar.gz.
        size: in bytes.
        weights: "pretrained", "provided" or "random", as its manifest.json says; "" for an archive without one.
        target: "cpu", "gpu" or "fused".
        image: the release that it was built for ("24.09"); "" for the server on this machine.
        instance: the instance type that it was built for.
        python: the minor version of Python that its code is for.
    """

    path: Path
    name: str
    sha256: str
    size: int
    weights: str = ""
    target: str = ""
    image: str = ""
    instance: str = ""
    python: str = ""

    @property
    def is_for_own_server(self) -> bool:
        """Return whether it was built for the server on this machine, and for no image."""
        return bool(self.target) and not self.image

    @property
    def key(self) -> str:
        """Return where it is in S3, relative to its prefix: its TargetModel."""
        return archive_key(self.name, self.sha256)


def read_archive(path: Path) -> Archive:
    """The archive at ``path``.
    Raises :class:`EnsembleError`: the file does not exist, its name does not end with .tar.gz, or it cannot be read."""
    if path.exists() and not path.is_file():
        raise EnsembleError("this is not an archive", path=path, cure=f"name a file *{SUFFIX}, which build writes")
    if not path.is_file():
        cure = f"name a {SUFFIX}, or run: {COMMAND} build"
        raise UsageError("there is no such archive", path=path, cure=cure)
    if not path.name.endswith(SUFFIX):
        raise EnsembleError(f"SageMaker's multi-model endpoints serve archives named *{SUFFIX}", path=path)
    manifest = _manifest(path)
    known = ("weights", "target", "image", "instance", "python")
    facts = {key: value for key in known if isinstance(value := manifest.get(key), str)}
    return Archive(path, path.name.removesuffix(SUFFIX), file_digest(path), path.stat().st_size, **facts)


def find_archives(folder: Path, ensembles: Iterable[str]) -> list[Archive]:
    """The archives of these ensembles in ``folder`` (dist/cpu); others there, such as clones, are ignored.
    Raises :class:`EnsembleError`: no ensemble has an archive here, or one cannot be read."""
    paths = [folder / f"{name}{SUFFIX}" for name in ensembles]
    archives = [read_archive(path) for path in paths if path.is_file()]
    if not archives:
        message = "no ensemble of this project has an archive here"
        raise EnsembleError(message, path=folder, cure=f"run: {COMMAND} build, or name the archives")
    return archives


def common_weights(archives: Sequence[Archive]) -> str:
    """The weights of all archives together: "random" when one's are, "pretrained" when all are, "provided" when some
    came by hand, "" when one's are unknown."""
    weights = {archive.weights for archive in archives}
    if RANDOM in weights:
        return RANDOM
    if not weights <= {PRETRAINED, PROVIDED}:
        return ""
    return PROVIDED if PROVIDED in weights else PRETRAINED if weights else ""


def refuse_random(archives: Sequence[Archive], *, allowed: bool) -> list[str]:
    """The names of the archives with random weights, whose answers look right and mean nothing.
    Raises :class:`EnsembleError`: there are any, and they are not ``allowed``."""
    random = [archive.name for archive in archives if archive.weights == RANDOM]
    if random and not allowed:
        cure = "build with WEIGHTS=pretrained, or use --allow-random to rehearse the endpoint itself"
        raise EnsembleError("; ".join(map(random_weights, random)), cure=cure)
    return random


def refuse_faulty(archives: Sequence[Archive], target: Destination) -> tuple[str, list[Repository]]:
    """Check archives for where they will run: a summary, such as ``no faults in 2 repositories``, and what was read.
    Raises :class:`EnsembleError`: ``check`` finds errors; the message has all of them, a line or more for each."""
    paths = [archive.path for archive in archives]
    repositories = repositories_at(paths)
    report = report_on(repositories, paths, target)
    if report.errors:
        where = " on ".join(part for part in (target.image, target.instance) if part) or "SageMaker"
        raise EnsembleError(f"check refuses these archives for {where}\n{error_lines(report)}\n")
    return summary(report), repositories


def _manifest(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            tar = TarStream.gzipped(file)
            for member in tar:
                if member.name.removeprefix("./") == MANIFEST and member.is_file:
                    if member.size > _LARGEST_MANIFEST:
                        message = f"its {MANIFEST} has {member.size} bytes, more than {_LARGEST_MANIFEST}"
                        raise EnsembleError(message, path=path)
                    manifest = parse_json(tar.content())
                    return manifest if isinstance(manifest, dict) else {}
    except (ArchiveError, OSError, ValueError) as error:
        raise EnsembleError(f"this file cannot be read as an archive: {error}", path=path) from error
    return {}
