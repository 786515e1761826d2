"""The wheel of this project, and wheels made here, in a folder that pip uses instead of its index."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from checkout import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this project."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture
def wheel_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def add_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    tag: str = "py3-none-any",
    requires: str = "",
    code: str = "",
    **files: bytes,
) -> None:
    """A wheel of the module ``name``, with what every wheel may bring: a script, a record, byte code, tests."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {requires}\n" if requires else ""
    )
    content = {
        f"{name}/__init__.py": code.encode(),
        f"{name}/__pycache__/__init__.cpython-311.pyc": b"x",
        f"{name}/tests/__init__.py": b"",
        f"{name}-{version}.data/scripts/{name}": b"#!python\n",
        f"{name}-{version}.data/purelib/{name}_more.py": b"",
        f"{name}.pth": b"import os\n",
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
        f"{info}/RECORD": b"",
        **{path.replace("__", "/"): data for path, data in files.items()},
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for path, data in content.items():
            wheel.writestr(path, data)
