"""The archives that are to be served, and which of them may not be."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.check import check
from triton_ensembles.check.fault import Severity
from triton_ensembles.check.formats import as_text, summary
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import file_digest
from triton_ensembles.triton.destination import Destination

SUFFIX = ".tar.gz"
_LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True)
class Archive:
    """One TargetModel.

    Attributes:
        name: the file's name without .tar.gz.
        weights: "pretrained" or "random" as its manifest.json says; "" for an archive without one.
        image: the release that it was built for ("24.09"); "" for the pip-only server, or when it does not say.
    """

    path: Path
    name: str
    sha256: str
    size: int
    weights: str
    image: str = ""

    @property
    def key(self) -> str:
        """``bert_trt-0a1b2c3d4e5f.tar.gz``. AWS does not pick up a changed object under an old key while the model is
        loaded ("use a new and unique name"), so the content is part of the name and no object is ever overwritten."""
        return f"{self.name}-{self.sha256[:12]}{SUFFIX}"


def read_archive(path: Path) -> Archive:
    """Raises :class:`EnsembleError` for what is not there or no .tar.gz."""
    if not path.is_file():
        raise EnsembleError("there is no such archive", path=path, cure="make build-ensembles")
    if not path.name.endswith(SUFFIX):
        raise EnsembleError(f"SageMaker's multi-model endpoints serve archives named *{SUFFIX}", path=path)
    name = path.name.removesuffix(SUFFIX)
    manifest = _manifest(path)
    weights, image = (str(manifest.get(key, "")) for key in ("weights", "image"))
    return Archive(path, name, file_digest(path), path.stat().st_size, weights, image)


def find_archives(folder: Path) -> list[Archive]:
    """All archives of a folder such as dist/cpu. Raises :class:`EnsembleError` when there is none."""
    found = sorted(path for path in folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))
    if not found:
        raise EnsembleError("there are no archives here", path=folder, cure="make build-ensembles, or name archives")
    return [read_archive(path) for path in found]


def refuse_random(archives: Sequence[Archive], *, allowed: bool) -> list[str]:
    """The names of the archives with random weights. Raises :class:`EnsembleError` when there are any and it is not
    ``allowed``: their answers look like answers and mean nothing."""
    random = [each for each in archives if each.weights == "random"]
    if random and not allowed:
        raise EnsembleError(
            f"random weights, so that answers would mean nothing: {', '.join(each.name for each in random)}",
            cure="build with WEIGHTS=pretrained; to rehearse the endpoint itself, say --allow-random",
        )
    return [each.name for each in random]


def refuse_faulty(archives: Sequence[Archive], target: Destination) -> str:
    """``no faults in 2 repositories``. Raises :class:`EnsembleError` with every error of ``check`` in it."""
    report = check([each.path for each in archives], target)
    errors = tuple(fault for fault in report.faults if fault.severity is Severity.ERROR)
    if errors:
        shown = as_text(type(report)(errors, report.repositories), 0).rsplit("\n", 1)[0]
        where = " on ".join(part for part in (target.image, target.instance) if part) or "SageMaker"
        raise EnsembleError(f"check refuses these archives for {where}\n{shown}\n")
    return summary(report)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        with tarfile.open(path, "r|gz") as tar:
            for member in tar:
                if member.name.removeprefix("./") == MANIFEST and member.isfile():
                    if member.size > _LARGEST_MANIFEST:
                        raise EnsembleError(f"its {MANIFEST} is {member.size} bytes long", path=path)
                    content = tar.extractfile(member)
                    manifest = json.loads(content.read()) if content else {}
                    return manifest if isinstance(manifest, dict) else {}
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise EnsembleError(f"this cannot be read as an archive: {error}", path=path) from error
    return {}
