"""Archives to deploy: what their manifests say, and which of them are refused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.archive.manifest import RANDOM, random_weights
from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.formats.text import error_lines, summary
from triton_ensembles.checking.repository import Repository
from triton_ensembles.deploy.keys import SUFFIX, archive_key, archive_name
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.triton.destination import Destination


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
        repository: what is in it, as ``check`` reads it.
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
    repository: Repository = field(kw_only=True, repr=False)

    @property
    def is_for_own_server(self) -> bool:
        """Return whether it was built for the server on this machine, and for no image."""
        return bool(self.target) and not self.image

    @property
    def key(self) -> str:
        """Return where it is in S3, relative to its prefix: its TargetModel."""
        return archive_key(self.name, self.sha256)


def read_archive(path: Path) -> Archive:
    """Read the archive at ``path``; what cannot be read of it, :func:`refuse_faulty` says.
    Raises :class:`EnsembleError`: the file does not exist, or its name does not end with .tar.gz."""
    name = archive_name(path)
    (repository,) = repositories_at([path])
    known, written = ("weights", "target", "image", "instance", "python"), manifest(repository)
    facts = {key: value for key in known if isinstance(value := written.get(key), str)}
    return Archive(path, name, file_digest(path), path.stat().st_size, **facts, repository=repository)


def find_archives(folder: Path, ensembles: Iterable[str]) -> list[Path]:
    """Find the archives of these ensembles in ``folder`` (dist/cpu); others there, such as clones, are ignored.
    Raises :class:`EnsembleError`: no ensemble has an archive here."""
    paths = [folder / f"{name}{SUFFIX}" for name in ensembles]
    archives = [path for path in paths if path.is_file()]
    if not archives:
        message = "no ensemble of this project has an archive here"
        raise EnsembleError(message, path=folder, cure=f"run: {COMMAND} build, or name the archives")
    return archives


def refuse_random(archives: Sequence[Archive], *, allowed: bool) -> list[str]:
    """The names of the archives with random weights, whose answers look right and mean nothing.
    Raises :class:`EnsembleError`: there are any, and they are not ``allowed``."""
    random = [archive.name for archive in archives if archive.weights == RANDOM]
    if random and not allowed:
        cure = "build with WEIGHTS=pretrained, or use --allow-random to rehearse the endpoint itself"
        raise EnsembleError("; ".join(map(random_weights, random)), cure=cure)
    return random


def refuse_faulty(archives: Sequence[Archive], target: Destination) -> str:
    """Check archives for where they will run. Returns a summary, such as ``no faults in 2 repositories``.
    Raises :class:`EnsembleError`: ``check`` finds errors; the message has all of them, a line or more for each."""
    report = report_on([archive.repository for archive in archives], [archive.path for archive in archives], target)
    if report.errors:
        where = " on ".join(part for part in (target.image, target.instance) if part) or "SageMaker"
        raise EnsembleError(f"check refuses these archives for {where}\n{error_lines(report)}\n")
    return summary(report)
