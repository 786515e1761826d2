from __future__ import annotations

import dataclasses
import sys
import tarfile
from pathlib import Path

import pytest

from triton_ensembles.environment import interpreter, make_packed_environment
from triton_ensembles.environment.interpreter import choose_interpreter, inspect_interpreter
from triton_ensembles.errors import EnsembleError

from .conftest import WriteFile, run_bare

RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHERS = [minor for minor in ("3.11", "3.12", "3.13") if minor != RUNNING]


def test_a_virtual_environment_gives_the_python_below_it() -> None:
    found = inspect_interpreter(sys.executable)
    assert found is not None
    assert (found.minor, found.base_prefix) == (RUNNING, Path(sys.base_prefix))
    assert (found.stdlib / "os.py").is_file()
    assert list(found.dynload.glob("*.so"))


def test_a_program_that_is_not_a_python_is_not_taken_for_one() -> None:
    assert inspect_interpreter("/bin/true") is None
    assert inspect_interpreter("/nowhere/python") is None


def test_a_missing_python_is_replaced_with_a_warning() -> None:
    """Otherwise a newcomer with another Python and no channel gets no environment, or another one without notice."""
    found, warning = choose_interpreter("3.99")
    assert found.minor == RUNNING
    assert warning.startswith("WARNING: there is no Python 3.99")


def test_a_python_without_a_shared_library_is_refused_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_library(executable: str | Path) -> interpreter.Interpreter | None:
        found = inspect_interpreter(executable)
        return found and dataclasses.replace(found, library_folders=())

    monkeypatch.setattr(interpreter, "inspect_interpreter", without_library)
    with pytest.raises(EnsembleError, match=r"built without libpython.*--enable-shared"):
        choose_interpreter(None)


def test_another_installed_python_is_used_when_the_file_names_it(environment_file: WriteFile, tmp_path: Path) -> None:
    """Otherwise the environment has the Python that runs the build, which Triton's stub cannot load."""
    asked = next((minor for minor in OTHERS if choose_interpreter(minor)[0].minor == minor), None)
    if asked is None:
        pytest.skip("there is only one Python with a shared library here")
    spec = environment_file(f"dependencies:\n  - python={asked}\n  - idna==3.10\n")
    packed = make_packed_environment(spec, destination=tmp_path / "env.tar.gz", provider="pypi")
    assert packed.python == asked
    with tarfile.open(packed.path) as archive:
        archive.extractall(tmp_path / "elsewhere")
    code = "import idna, sys; print('%d.%d' % sys.version_info[:2], idna.__version__)"
    assert run_bare(tmp_path / "elsewhere" / "bin" / "python3", code) == f"{asked} 3.10"
