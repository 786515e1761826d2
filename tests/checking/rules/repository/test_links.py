"""Symbolic links: `check` says of each repository what the server does with it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosting import archives
from tests.running import serving
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.triton_server import TritonServer


def linked(path: Path, target: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def moved(model: Path) -> None:
    elsewhere = model.parents[1] / "elsewhere"
    model.rename(elsewhere)
    linked(model, f"../{elsewhere.name}")


LINKS: dict[str, Callable[[Path], None]] = {
    "a_model": moved,
    "a_version": lambda model: linked(model / "3", "1"),
    "nothing_in_a_version": lambda model: linked(model / "1" / "x", "nowhere"),
    "the_folder_that_it_lies_in": lambda model: linked(model / "1" / "loop", "."),
    "a_folder_above": lambda model: linked(model / "loop", f"../{model.name}"),
}
BROKEN: dict[str, Callable[[Path], None]] = {
    "a lock of Emacs": lambda model: linked(model / ".#config.pbtxt", "me@host.12"),
    "no version": lambda model: linked(model / "2", "nowhere"),
    "no model": lambda model: linked(model.with_name("n"), "nowhere"),
}


def test_the_server_loads_models_with_links_in_which_there_are_no_faults(tmp_path: Path) -> None:
    repository = tmp_path / "models"
    for name, link in LINKS.items():
        link(archives.written(archives.model(name), repository) / name)
        assert not check([repository]).faults, name
    with serving(TritonServer([repository])) as server:
        assert sorted(server.loaded(0)) == sorted(LINKS)


@pytest.mark.parametrize("to", BROKEN)
def test_links_are_faults_where_the_server_does_not_start(to: str, tmp_path: Path) -> None:
    repository = archives.written(archives.model("m"), tmp_path / "models")
    BROKEN[to](repository / "m")
    assert [fault.rule for fault in check([repository]).faults] == ["link-broken"]
    with pytest.raises(EnsembleError, match="failed to stat file"):
        TritonServer([repository], log=tmp_path / "log").start()


def test_the_files_of_a_linked_model_are_read(tmp_path: Path) -> None:
    """Otherwise a fault in it is found by the server."""
    repository = archives.written(archives.model("m", initialize="import nothing_of_that_name"), tmp_path / "models")
    moved(repository / "m")
    (fault,) = check([repository]).faults
    assert "nothing_of_that_name" in fault.message


def test_a_model_file_that_is_a_link_to_nowhere_is_an_error(tmp_path: Path) -> None:
    """Otherwise the load never ends: the stub does not say that it has no file."""
    repository = archives.written(archives.model("m"), tmp_path / "models")
    (repository / "m" / "1" / "model.py").unlink()
    linked(repository / "m" / "1" / "model.py", "/nowhere")
    assert [fault.rule for fault in check([repository]).faults] == ["model-file-broken"]


def test_a_helper_that_is_a_link_to_nowhere_is_missing(tmp_path: Path) -> None:
    """Otherwise the checker takes its name for a module, and the server finds none."""
    repository = archives.written(archives.model("m", initialize="import helper"), tmp_path / "models")
    linked(repository / "m" / "1" / "helper.py", "../nowhere.py")
    (fault,) = check([repository]).faults
    assert fault.rule == "import-missing" and "1/helper.py leads nowhere" in fault.cure
    with pytest.raises(EnsembleError, match="No module named 'helper'"):
        TritonServer([repository], log=tmp_path / "log").start()
