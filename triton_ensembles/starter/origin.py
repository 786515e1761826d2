"""Where this package was installed from, as a requirement for pip: PEP 610, direct_url.json."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit

from triton_ensembles.version import __version__

_NAME = "triton-ensembles"


def requirement(extras: str = "") -> str:
    """The line of a requirements file that installs the package from where it was installed here, with ``extras`` such
    as ``[serve]``: a file, a git commit, a folder (``-e`` where it is editable); its version, of what came from an
    index."""
    try:
        written = distribution(_NAME).read_text("direct_url.json")
        origin: dict[str, Any] = json.loads(written or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = origin.get("url", "")
    if not url:
        return f"{_NAME}{extras}=={__version__}"
    if origin.get("dir_info", {}).get("editable"):
        path = f"{unquote(urlsplit(url).path)}{extras}"
        return f'-e "{path}"' if " " in path else f"-e {path}"
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"{_NAME}{extras} @ {url}"
