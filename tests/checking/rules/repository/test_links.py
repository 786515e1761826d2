"""Symbolic links: `check` says of each repository what the server does with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.endpoint.hosting import archives
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.server import TritonServer


def linked(path: Path, target: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def moved(model: Path) -> None:
    model.rename(model.parents[1] / "elsewhere")
    linked(model, "../elsewhere")


LINKS: dict[str, Callable[[Path], None]] = {
    "a model": lambda repository: moved(repository / "m"),
    "a version": lambda repository: linked(repository / "m" / "3", "1"),
    "nothing, in a version": lambda repository: linked(repository / "m" / "1" / "x", "nowhere"),
    "the folder that it lies in": lambda repository: linked(repository / "m" / "1" / "loop", "."),
    "a folder above": lambda repository: linked(repository / "m" / "loop", "../m"),
}
BROKEN: dict[str, Callable[[Path], None]] = {
    "a lock of Emacs": lambda repository: linked(repository / "m" / ".#config.pbtxt", "me@host.12"),
    "no version": lambda repository: linked(repository / "m" / "2", "nowhere"),
    "no model": lambda repository: linked(repository / "n", "nowhere"),
}


@pytest.mark.parametrize("to", [*LINKS, *BROKEN])
def test_links_are_faults_where_the_server_does_not_load_the_model(to: str, tmp_path: Path) -> None:
    repository = archives.written(archives.model("m"), tmp_path / "models")
    (LINKS | BROKEN)[to](repository)
    faults = [fault.rule for fault in check([repository]).faults]
    if to in BROKEN:
        assert faults == ["link-broken"]
        with pytest.raises(EnsembleError, match="failed to stat file"):
            TritonServer([repository], log=tmp_path / "log").start()
    else:
        assert not faults
        with TritonServer([repository]) as server:
            assert server.loaded(0) == ["m"]


def test_the_files_of_a_linked_model_are_read(tmp_path: Path) -> None:
    """Otherwise a fault in it is found by the server."""
    repository = archives.written(archives.model("m", initialize="import nothing_of_that_name"), tmp_path / "models")
    moved(repository / "m")
    (fault,) = check([repository]).faults
    assert "nothing_of_that_name" in fault.message
