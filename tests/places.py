"""Folders of a build of one's own, which has what the project's own build/ has fetched and made."""

from pathlib import Path

from triton_ensembles.building.places import Places


def borrowed(places: Places, folder: Path, *names: str, ensembles: Path | None = None) -> Places:
    """Empty build and dist folders in ``folder``, with links to these folders of ``places.build``."""
    (folder / "build").mkdir(parents=True)
    for name in names:
        (places.build / name).mkdir(parents=True, exist_ok=True)
        (folder / "build" / name).symlink_to((places.build / name).resolve())
    return Places(ensembles or places.ensembles, folder / "build", folder / "dist")
