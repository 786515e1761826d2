"""The target that an archive was built for, as its manifest says, and the Python that runs its steps."""

import json
import re
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.releases import Release, image_of

_MEASURED = re.compile("^precision$|cosine|kept")  # the facts of a plan that are about its accuracy


def manifest(repository: Repository) -> dict[str, Any]:
    """The manifest of an archive that this project built, {} when it has none."""
    entry = repository.tree.get(MANIFEST)
    try:
        data = json.loads(entry.data) if entry and entry.data else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def artifacts(model: Model) -> dict[str, dict[str, Any]]:
    """The manifest's records of a model's files, by path; the build puts the ensemble's name before that of a step."""
    data = manifest(model.repository)
    written = data.get("artifacts")
    records: dict[str, dict[str, Any]] = {}
    for key, record in written.items() if isinstance(written, dict) else ():
        step, _, path = str(key).partition("/")
        if model.folder in (step, f"{data.get('ensemble')}.{step}") and isinstance(record, dict):
            records.setdefault(path, record)
    return records


def table(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The table below these keys of a record, {} for none."""
    for key in keys:
        value = record.get(key)
        record = value if isinstance(value, dict) else {}
    return record


def fact(record: dict[str, Any], key: str) -> str:
    """A fact about an artifact, "" when its record has none."""
    value = table(record, "facts").get(key)
    return str(value) if isinstance(value, str | int | float) else ""


def measured(record: dict[str, Any]) -> str:
    """Return what the build has measured of an artifact: ``precision int8, least cosine to fp32 0.988``."""
    facts = {key: value for key, value in table(record, "facts").items() if _MEASURED.search(key)}
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in (facts | table(record, "accuracy")).items())


def is_for_own_server(repository: Repository) -> bool:
    """Return whether the manifest says that the archive was built for this project's own server, and for no image."""
    data = manifest(repository)
    return bool(data.get("target")) and not data.get("image")


def severity_at_completion(repository: Repository) -> Severity:
    """The severity of what Triton refuses when it completes configs, as it does by default: a warning for what this
    project builds, which ``serve`` and ``deploy`` have served as it is."""
    return Severity.WARNING if repository.builds or manifest(repository).get("target") else Severity.ERROR


def python_of(repository: Repository, destination: Destination) -> tuple[str, str]:
    """The Python that imports the packages, and whose it is; "" for an image of which nothing is known."""
    if (image := image_of(destination)) and image.python:
        return image.python, f"Triton {image.release}"
    # An archive that was built for an image is rehearsed here with the stub of the image's Python.
    if (image := image_built_for(repository)) and image.python:
        return image.python, f"Triton {image.release}, for which the archive was built,"
    python = manifest(repository).get("python")
    if isinstance(python, str) and python not in ("", server_python()):
        return python, "the server that the archive was built for"
    if destination.undecided or destination.image:
        return "", ""
    return server_python(), "this machine's server"


def image_built_for(repository: Repository) -> Release | None:
    """The release of the image that the manifest names."""
    written = manifest(repository).get("image")
    return image_of(Destination(image=written)) if isinstance(written, str) and written else None
