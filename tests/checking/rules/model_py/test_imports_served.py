"""Imports that a file can do without, and those that it cannot: as the server sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
import tritonclient.http as http

from tests.endpoint.hosting import archives
from triton_ensembles.checking.checker import check
from triton_ensembles.triton.server import TritonServer

MISSING = {
    "caught_value": "try:\n    import absent\nexcept ValueError:\n    pass",
    "raised_again": "try:\n    import absent\nexcept ImportError:\n    raise RuntimeError('install absent')",
    "exited": "import sys\ntry:\n    import absent\nexcept ImportError:\n    sys.exit('install absent')",
    "fallback_missing_too": "try:\n    import absent\nexcept ImportError:\n    import absent2",
    "finally_only": "try:\n    import absent\nfinally:\n    pass",
    "import_module": "import importlib\nabsent = importlib.import_module('absent')",
    "imported_name": "from importlib import import_module\nabsent = import_module('absent.part')",
    "dunder": "absent = __import__('absent')",
    "other_suppressed": "import contextlib\nwith contextlib.suppress(ValueError):\n    import absent",
}
DONE_WITHOUT = {
    "caught": "try:\n    import absent\nexcept ImportError:\n    absent = None",
    "caught_all": "try:\n    import absent\nexcept Exception:\n    absent = None",
    "caught_one_of": "try:\n    import absent\nexcept (ValueError, ModuleNotFoundError):\n    absent = None",
    "suppressed": "import contextlib\nwith contextlib.suppress(ImportError):\n    import absent",
    "suppressed_by_name": "from contextlib import suppress\nwith suppress(ImportError, OSError):\n    import absent",
    "fallback": "try:\n    import absent as json\nexcept ImportError:\n    import json",
    "fallback_unneeded": "try:\n    import json\nexcept ImportError:\n    import absent as json",
    "module_caught": "try:\n    absent = __import__('absent')\nexcept ImportError:\n    absent = None",
    "later": "def late():\n    import absent",
}
IN_INITIALIZE = {
    "initialize": "import absent",
    "initialize_caught": "try:\n    import absent\nexcept ImportError: pass",
}


def indented(code: str) -> str:
    return "\n        ".join(code.splitlines())


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, code in (MISSING | DONE_WITHOUT).items():
        files = archives.model(name)
        files[f"{name}/1/model.py"] = f"{code}\n".encode() + files[f"{name}/1/model.py"]
        archives.written(files, folder)
    for name, code in IN_INITIALIZE.items():
        archives.written(archives.model(name, initialize=indented(code)), folder)
    return folder


@pytest.fixture(scope="module")
def loaded(repository: Path) -> set[str]:
    with (
        TritonServer([repository], arguments=["--exit-on-error=false", "--strict-readiness=false"]) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        return {model["name"] for model in client.get_model_repository_index() if model.get("state") == "READY"}


def test_what_the_server_does_not_load_is_an_error_and_nothing_else(repository: Path, loaded: set[str]) -> None:
    """Otherwise a guard that guards nothing hides a package that is missing on AWS."""
    assert loaded == DONE_WITHOUT.keys() | {"initialize_caught"}
    faults = check([repository]).faults
    errors = {fault.place.path.split("/")[-3] for fault in faults if fault.rule == "import-missing"}
    assert errors == MISSING.keys() | {"initialize"}
    others = {fault.place.path.split("/")[-3] for fault in faults if fault.rule == "import-uncertain"}
    assert others == {"later"}
