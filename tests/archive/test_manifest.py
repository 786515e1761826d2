"""The Python that archives name decides which stubs serve them."""

import json
from pathlib import Path

from triton_ensembles.archive.manifest import MANIFEST, python_of


def unpacked(folder: Path, name: str, **manifest: str) -> Path:
    repository = folder / name
    repository.mkdir()
    (repository / MANIFEST).write_text(json.dumps(manifest))
    return repository


def test_one_python_serves_what_does_not_matter_too(tmp_path: Path) -> None:
    repositories = {"fused": unpacked(tmp_path, "fused", python="3.10"), "any": unpacked(tmp_path, "any", python="")}
    repositories["old"] = unpacked(tmp_path, "old")
    assert python_of(repositories) == "3.10"
    assert python_of({"any": repositories["any"], "no manifest": tmp_path}) == ""
