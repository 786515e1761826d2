"""Results of builds: the archives in dist/, and what each was built from."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.archive.manifest import FACTS, MANIFEST, RANDOM
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import Proof
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.files import file_digest, read_json
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.project.recipe.reader import read_recipe


@dataclass(frozen=True)
class Built:
    """An archive in dist/."""

    name: str
    archive: Path
    repository: Path  # the staged repository that was packed
    sha256: str
    manifest: dict[str, Any]  # {} of an implied recipe
    inputs: str  # the digest of everything that it was built from; "" of an implied recipe
    changed: bool  # whether this build wrote it, or the same was there before
    proof: Proof

    @property
    def random(self) -> bool:
        """Return whether any file in it has random weights."""
        return self.weights == RANDOM

    @property
    def weights(self) -> str:
        """Return where its weights are from; "" for a repository that was packed as it is."""
        return str(self.manifest.get("weights", ""))


def choose(root: Path, names: Sequence[str], *, leading: bool = False) -> list[Path]:
    """The folders of the named ensembles in ``root``, or of all of them. ``leading``: without names, only those whose
    recipe does not say ``leading = false``, if there are any. Raises :class:`EnsembleError`."""
    folders = {folder.name: folder for folder in find_ensembles(root)}
    if not folders:
        raise UsageError("there are no ensembles here", path=root, cure="an ensemble is a folder with ensemble.toml")
    for name in names:
        if name not in folders:
            raise UsageError(f"there is no ensemble {name!r}", path=root, cure=f"there are {', '.join(folders)}")
    if leading and not names:
        names = [name for name, folder in folders.items() if _leads(folder)]
    return [folders[name] for name in dict.fromkeys(names or folders)]  # a name may be given twice


def _leads(folder: Path) -> bool:
    """A recipe that cannot be read leads: its build tells the fault."""
    with suppress(EnsembleError, OSError):
        return read_recipe(folder).leading
    return True


def last_built(name: str, target: str, places: Places) -> Built | None:
    """The ensemble's archive in dist/; None when it was never built, or it or the record of its build is damaged."""
    try:
        state = read_json(places.state(target, name))
        manifest = read_json(places.repository(target, name) / MANIFEST)
        parts = [*manifest["artifacts"].values(), *manifest["environments"].values()]
        whole = all(isinstance(part, dict) for part in parts) and manifest.keys() >= FACTS
        archive = places.archive(target, name)
        if not whole or not archive.is_file() or file_digest(archive) != state["archive"]:
            return None
        return built_of(name, target, places, state, manifest, changed=False)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def built_of(
    name: str, target: str, places: Places, state: Mapping[str, Any], manifest: dict[str, Any], *, changed: bool
) -> Built:
    """The ensemble's archive and repository, of which ``state`` and ``manifest`` tell."""
    archive, repository = places.archive(target, name), places.repository(target, name)
    proof = Proof(state["proof"])
    return Built(name, archive, repository, state["archive"], manifest, state["inputs"], changed, proof)
