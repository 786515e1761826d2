"""The target that an archive was built for, as its manifest says, and the Python that runs its steps."""

import json
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking.repository import Repository
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.home import server_python
from triton_ensembles.triton.releases import Release, image_of


def manifest(repository: Repository) -> dict[str, Any]:
    """The manifest of an archive that this project built, {} when it has none."""
    entry = repository.tree.get(MANIFEST)
    try:
        data = json.loads(entry.data) if entry and entry.data else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def is_for_own_server(repository: Repository) -> bool:
    """Whether the manifest says that the archive was built for this project's own server, and for no image."""
    data = manifest(repository)
    return bool(data.get("target")) and not data.get("image")


def python_of(repository: Repository, destination: Destination) -> tuple[str, str]:
    """The Python that imports the packages, and whose it is."""
    if (image := image_of(destination)) and image.python:
        return image.python, f"Triton {image.release}"
    # An archive that was built for an image is rehearsed here with the stub of the image's Python.
    if (image := image_built_for(repository)) and image.python:
        return image.python, f"Triton {image.release}, for which the archive was built,"
    return server_python(), "this machine's server"


def image_built_for(repository: Repository) -> Release | None:
    """The release of the image that the manifest names."""
    written = manifest(repository).get("image")
    return image_of(Destination(image=written)) if isinstance(written, str) and written else None
