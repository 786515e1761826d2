"""Wheels unpacked into a folder, for Pythons and machines other than this one."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.wheels import add_wheel
from triton_ensembles.artifacts.environment.pip_failures import WheelError
from triton_ensembles.artifacts.environment.wheels import Wheels, install_wheels
from triton_ensembles.ground.errors import EnsembleError

pytestmark = pytest.mark.slow


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_unpacked_that_no_step_imports_or_the_recipe_leaves_out(wheel_index: Path, tmp_path: Path) -> None:
    """Scripts and records name the machine that installed them, and byte code the time: archives would differ."""
    add_wheel(wheel_index, "alpha", requires="beta")
    add_wheel(wheel_index, "beta")
    site, without = tmp_path / "site", ["*/site-packages/beta*"]
    assert install_wheels(Wheels(["alpha"], "3.10", (2, 35), exclude=without), site) == {"alpha": "1.0"}
    notes = {f"alpha-1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "top_level.txt")}
    assert set(files_in(site)) == {"alpha/__init__.py", "alpha/tests/__init__.py", "alpha_more.py", *notes}
    assert files_in(site)["alpha-1.0.dist-info/top_level.txt"] == b"alpha\nalpha_more\n"


def test_dependencies_are_those_of_the_python_that_is_asked_for(wheel_index: Path, tmp_path: Path) -> None:
    """pip itself evaluates markers for the Python that it runs in: an image's Python would lack a package."""
    add_wheel(wheel_index, "alpha", requires='beta; python_version < "3.9"')
    add_wheel(wheel_index, "beta")
    for python, packages in (("3.8", {"alpha": "1.0", "beta": "1.0"}), ("3.12", {"alpha": "1.0"})):
        assert install_wheels(Wheels(["alpha"], python, (2, 31)), tmp_path / python) == packages
    alone = install_wheels(Wheels(["alpha"], "3.8", (2, 31), dependencies=False), tmp_path / "alone")
    assert alone == {"alpha": "1.0"}


@pytest.mark.parametrize("tag", ["cp312-cp312-manylinux_2_17_x86_64", "cp310-cp310-manylinux_2_39_x86_64"])
def test_a_package_without_a_wheel_is_refused_by_name(wheel_index: Path, tmp_path: Path, tag: str) -> None:
    add_wheel(wheel_index, "alpha", requires="beta==2.0")
    add_wheel(wheel_index, "beta", "2.0", tag)
    wanted = "no wheel brings beta==2.0 (which alpha requires) for Python 3.10 and glibc 2.35; build one with `pip"
    with pytest.raises(WheelError, match=re.escape(wanted)) as refusal:
        install_wheels(Wheels(["alpha"], "3.10", (2, 35)), tmp_path / "site")
    assert refusal.value.packages == ("beta", "alpha")


def test_a_file_outside_the_folder_is_refused(wheel_index: Path, tmp_path: Path) -> None:
    add_wheel(wheel_index, "alpha", **{"..__..__evil.py": b""})
    with pytest.raises(EnsembleError, match="a file outside its folder"):
        install_wheels(Wheels(["alpha"], "3.10", (2, 35)), tmp_path / "site")


@pytest.fixture
def frames(wheel_index: Path) -> Wheels:
    """A package whose later releases need numpy 2, for a step that needs numpy 1."""
    add_wheel(wheel_index, "frame", "1.0", requires="numpy>=1.20")
    for number in ("2.0", "3.0", "4.0rc1"):
        add_wheel(wheel_index, "frame", number, requires='numpy>=2; python_version < "3.14"')
    for number in ("1.26.4", "2.3.0"):
        add_wheel(wheel_index, "numpy", number)
    return Wheels(["frame"], "3.11", (2, 35), constraints=["numpy<2"])


def test_packages_are_chosen_that_accept_the_numpy_of_the_stub(frames: Wheels, tmp_path: Path) -> None:
    """Otherwise the newest pandas is packed, which needs numpy 2, and the model is built and never loads."""
    assert install_wheels(frames, tmp_path / "packages") == {"frame": "1.0", "numpy": "1.26.4"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["frame>=2"], "frame 3.0 depends on numpy>=2; the steps need numpy<2; change the version of frame"),
        (["frame==2.0", "numpy==1.26.4"], "you ask for numpy==1.26.4; frame 2.0 depends on numpy>=2; the steps"),
        (["frame==9"], "glibc 2.35; ask for a version that has one: the newest are 1.0, 2.0 and 3.0"),
        (["other"], "no wheel brings other for Python 3.11 and glibc 2.35; if the name is right, build one with `pip"),
    ],
)
def test_a_failure_of_pip_is_one_sentence_with_what_to_do(
    frames: Wheels, tmp_path: Path, asked: list[str], says: str
) -> None:
    """pip itself lists each version that it tried, a hundred of them for pandas."""
    with pytest.raises(WheelError) as refusal:
        install_wheels(replace(frames, requirements=asked), tmp_path / "packages")
    assert says in str(refusal.value)


def test_an_index_that_is_away_is_not_a_package_without_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("CONFIG_FILE", os.devnull), ("INDEX_URL", "http://127.0.0.1:9/simple"), ("RETRIES", "1")):
        monkeypatch.setenv(f"PIP_{name}", value)
    with pytest.raises(EnsembleError, match="wheels of alpha: it cannot reach the index; check it with"):
        install_wheels(Wheels(["alpha"], "3.10", (2, 35)), tmp_path / "site")
