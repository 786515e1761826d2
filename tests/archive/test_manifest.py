"""The Python that archives name decides which stubs serve them."""

import json
from pathlib import Path

import pytest

from triton_ensembles.archive.manifest import MANIFEST, python_of
from triton_ensembles.ground.errors import EnsembleError


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


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(EnsembleError, match="this is not a manifest; build the archive again"):
        python_of({"a": tmp_path})
