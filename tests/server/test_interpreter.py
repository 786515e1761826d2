import dataclasses
import sys
from pathlib import Path

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server import interpreter
from triton_ensembles.server.interpreter import choose_interpreter, inspect_interpreter

RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_a_virtual_environment_gives_the_python_below_it() -> None:
    found = inspect_interpreter(sys.executable)
    assert found is not None
    assert (found.minor, found.base_prefix) == (RUNNING, Path(sys.base_prefix))
    assert (found.stdlib / "os.py").is_file()
    assert list(found.dynload.glob("*.so"))
    assert inspect_interpreter("/bin/true") is None


def test_a_missing_python_is_replaced_with_a_warning_or_refused_where_it_is_required() -> None:
    """Otherwise a newcomer without a channel gets no environment, or an image one that it does not start."""
    found, warning = choose_interpreter("3.99")
    assert found.minor == RUNNING
    assert warning.startswith("WARNING: there is no Python 3.99")
    with pytest.raises(EnsembleError, match=r"there is no Python 3\.99 with a shared library here"):
        choose_interpreter("3.99", exactly=True)


def test_a_python_without_a_shared_library_is_refused_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_library(executable: str | Path) -> interpreter.Interpreter | None:
        found = inspect_interpreter(executable)
        return found and dataclasses.replace(found, library_folders=())

    monkeypatch.setattr(interpreter, "inspect_interpreter", without_library)
    with pytest.raises(EnsembleError, match=r"built without libpython.*--enable-shared"):
        choose_interpreter(None)


def test_the_pythons_of_uv_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what `setup --image` has installed is not used."""
    monkeypatch.setattr(interpreter.sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PYENV_ROOT", "/nowhere")
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path))
    assert interpreter.find_interpreter(RUNNING) is None
    python = tmp_path / f"cpython-{RUNNING}.9-linux-x86_64-gnu" / "bin" / f"python{RUNNING}"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.prefix) / "bin" / "python")
    assert interpreter.find_interpreter(RUNNING) is not None


def test_a_python_that_nobody_has_is_refused_with_the_ways_to_get_it() -> None:
    said: list[str] = []
    with pytest.raises(EnsembleError, match=r"uv cannot install Python 3\.99: ") as caught:
        interpreter.install_interpreter("3.99", said.append)
    assert said == ["installing Python 3.99 with uv"]
    assert "pip install uv" in caught.value.cure and "pyenv install 3.99" in caught.value.cure
    interpreter.install_interpreter(RUNNING, said.append)  # is here, and nothing is done
    assert len(said) == 1
