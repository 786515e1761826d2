"""A change is checked again with what depends on it, and the faults are those of a whole check."""

from pathlib import Path
from shutil import copytree

import pytest

from tests.editing.pieces import write_models
from triton_ensembles.checking.checker import report_on
from triton_ensembles.checking.repository_search import read_repository, repository_around
from triton_ensembles.checking.rule import ANYWHERE
from triton_ensembles.editing.edited import EditedRepository
from triton_ensembles.ground.files import write_file
from triton_ensembles.triton.model_config import CONFIG


def lines_left_out(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    return ["".join(lines[:number] + lines[number + 1 :]) for number in range(len(lines))]


FILES = [f"{name}/{CONFIG}" for name in ("both", "scale", "outer", "caller")]


@pytest.mark.parametrize("path", [*FILES, "scale/1/model.py", "caller/1/model.py"])
def test_after_each_change_the_faults_are_those_of_check(tmp_path: Path, path: str) -> None:
    """Otherwise an editor shows a fault that was cured, or none where `check` has one."""
    root = write_models(tmp_path / "models")
    saved = (root / path).read_text()
    edited = EditedRepository(root)
    texts = {file.relative_to(root).as_posix(): file.read_text() for file in root.rglob("*.p*") if file.is_file()}
    edited.check(texts)
    for text in [*lines_left_out(saved), "", saved[: len(saved) // 2], saved]:
        faults = edited.check(texts | {path: text})
        write_file(root / path, text)
        whole = report_on([read_repository(root)], [root], ANYWHERE).faults
        assert {*faults} == {*whole}, text


def test_what_does_not_depend_on_a_change_is_not_looked_at(tmp_path: Path) -> None:
    """Otherwise a letter in a repository of a thousand models takes seconds."""
    root = write_models(tmp_path / "models")
    (root / "alone" / "1").mkdir(parents=True)
    write_file(root / "alone" / CONFIG, "nonsense: 1\n")
    edited = EditedRepository(root)
    scale = {f"scale/{CONFIG}": (root / "scale" / CONFIG).read_text()}
    assert not [fault for fault in edited.check(scale) if "alone" in fault.place.path]
    assert [fault for fault in edited.check({f"alone/{CONFIG}": "nonsense: 1\n"}) if "alone" in fault.place.path]


def test_a_file_belongs_to_the_repository_around_it(tmp_path: Path) -> None:
    """Otherwise steps are unknown, or somebody's whole home is read."""
    root = write_models(tmp_path / "work" / "models")
    assert repository_around(root / "scale" / CONFIG) == root
    assert repository_around(root / "scale" / "1" / "model.py") == root
    assert repository_around(root / "requirements.txt") == root
    assert repository_around(root / "new" / CONFIG) == root
    alone = copytree(root / "scale", tmp_path / "home" / "scale")
    assert repository_around(alone / CONFIG) == alone.parent
    (alone.parent / "photographs").mkdir()
    assert repository_around(alone / CONFIG) == alone
