"""The lock of an environment: the same packages next year, whatever has appeared on the index since."""

import shutil
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.places import built_by
from tests.wheels import add_wheel
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.pip_server import server_python

_RECIPE = """description = "Three numbers, plus two"

[environments.greek]
file = "envs/greek.yml"
steps = ["first"]
kind = "wheels"
"""


@pytest.fixture
def project(tmp_path: Path, wheel_index: Path) -> Path:
    """A step that imports alpha, which requires any beta."""
    add_wheel(wheel_index, "alpha", requires="beta")
    add_wheel(wheel_index, "beta", "1.0")
    folder = tmp_path / "project"
    write_chain(folder)
    (folder / "envs").mkdir()
    (folder / "envs" / "greek.yml").write_text("name: greek\ndependencies:\n  - alpha\n")
    (folder / "ensembles" / NAME / "ensemble.toml").write_text(_RECIPE)
    step = folder / "ensembles" / NAME / "first" / "1" / "model.py"
    step.write_text("import alpha\n" + step.read_text())
    return folder


def make(project: Path, *, locked: bool = False) -> Built:
    return built_by(Places.of(project), NAME, keep_locks=locked)


def lock_of(project: Path) -> Path:
    return project / "ensembles" / NAME / "locks" / f"greek-wheels-python{server_python()}.lock"


def test_what_appeared_on_the_index_since_changes_nothing(project: Path, wheel_index: Path) -> None:
    """Otherwise a build of the same input has other bytes, and other faults, next year, and CI installs anything."""
    with pytest.raises(EnsembleError, match="is missing"):
        make(project, locked=True)
    assert not lock_of(project).exists()
    first = make(project)
    assert not make(project).changed
    lines = [line for line in lock_of(project).read_text().splitlines() if not line.startswith("#")]
    assert [line.split(" ")[0] for line in lines] == ["alpha==1.0", "beta==1.0"]
    assert "://" not in lock_of(project).read_text()
    add_wheel(wheel_index, "beta", "2.0")
    shutil.rmtree(project / "build")
    assert make(project, locked=True).sha256 == first.sha256


def test_a_changed_environment_file_renews_the_lock_and_says_so(
    project: Path, wheel_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the file asks for one thing and the archive has another; or CI builds what nobody has looked at."""
    make(project)
    add_wheel(wheel_index, "beta", "2.0")
    (project / "envs" / "greek.yml").write_text("name: greek\ndependencies:\n  - alpha==1.0\n")
    before = lock_of(project).read_bytes()
    with pytest.raises(EnsembleError, match="other packages than are asked for"):
        make(project, locked=True)
    assert lock_of(project).read_bytes() == before
    make(project)
    assert "is renewed" in capsys.readouterr().out
    assert "beta==2.0" in lock_of(project).read_text()
    assert not make(project, locked=True).changed


def test_a_file_with_another_digest_is_not_installed(project: Path, wheel_index: Path) -> None:
    """Otherwise a package that was replaced on the index gets into the archive."""
    make(project)
    add_wheel(wheel_index, "beta", "1.0", beta__more=b"x")
    shutil.rmtree(project / "build")
    with pytest.raises(EnsembleError, match=r"the file of beta==1\.0 for this Python has another hash"):
        make(project)


def test_a_lock_that_cannot_be_installed_is_one_line_with_the_cure(project: Path) -> None:
    """Otherwise pip's words name a file that is gone."""
    make(project)
    lock = lock_of(project)
    lock.write_text(lock.read_text().replace("beta==1.0 ", "beta==7.0 "))
    for locked in (False, True):
        with pytest.raises(
            EnsembleError, match=r"what this lock says cannot be installed: .*beta==7\.0; delete the lock"
        ):
            make(project, locked=locked)


def test_a_package_that_is_asked_for_by_its_address_is_locked_with_it(project: Path, wheel_index: Path) -> None:
    """Otherwise the lock sends the next build to an index that does not have the package."""
    wheel = wheel_index / "beta-1.0-py3-none-any.whl"
    apart = wheel.rename(wheel_index.parent / wheel.name)
    (project / "envs" / "greek.yml").write_text(f"dependencies:\n  - pip:\n    - alpha\n    - beta @ file://{apart}\n")
    first = make(project)
    assert f"beta @ file://{apart} --hash=sha256:" in lock_of(project).read_text()
    shutil.rmtree(project / "build")
    assert make(project, locked=True).sha256 == first.sha256
