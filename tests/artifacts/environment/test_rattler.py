"""py-rattler installs real packages from a conda channel in a folder."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.environment_files import WriteFile
from tests.files import write_files
from tests.wheels import add_wheel
from triton_ensembles.artifacts.environment import make_packed_environment
from triton_ensembles.artifacts.environment.packed import install
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pypi import make_prefix
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import content_digest
from triton_ensembles.server.interpreter import inspect_interpreter

from .channel import PLACEHOLDER, add_package
from .conftest import run_bare

pytestmark = pytest.mark.slow

pytest.importorskip("rattler")
# A compiled-in prefix, as conda's OpenSSL has: conda pads the new one to the length of the placeholder.
COMPILED = b"\x7fELF\0\xff" + PLACEHOLDER.encode() + b"/ssl\0\xfe rest"
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``python`` out of the running interpreter's files, and the pure Python package ``greeting`` with a script."""
    folder = tmp_path_factory.mktemp("channel")
    interpreter = inspect_interpreter(sys.executable)
    assert interpreter is not None
    prefix = tmp_path_factory.mktemp("python") / "prefix"
    make_prefix(interpreter, prefix, lambda _: None)
    shutil.rmtree(prefix / "conda-meta")
    for table in prefix.glob("lib/python3.*/_sysconfigdata*.py"):
        table.write_text(table.read_text().replace(str(prefix), PLACEHOLDER))
    write_files(prefix, {"share/compiled": COMPILED})
    add_package(folder, prefix, {"name": "python", "version": interpreter.version, "build": "0_local"})

    for number in ("1.0", "2.0"):
        notes = f"site-packages/greeting-{number}.dist-info"
        content = {
            "site-packages/greeting/__init__.py": f"TEXT = 'hello from {number}'\n",
            f"{notes}/METADATA": f"Metadata-Version: 2.1\nName: greeting\nVersion: {number}\n",
            f"{notes}/RECORD": "greeting/__init__.py,,\n",
            "python-scripts/greet": f"#!{PLACEHOLDER}/bin/python\nimport greeting\nprint(greeting.TEXT)\n",
        }
        files = write_files(tmp_path_factory.mktemp("greeting"), content)
        (files / "python-scripts" / "greet").chmod(0o755)
        facts = {"name": "greeting", "version": number, "build": "py_0", "noarch": "python"}
        add_package(folder, files, {**facts, "depends": ["python >=3.8"]}, "noarch")
    return folder


def spec_text(channel: Path, greeting: str) -> str:
    return f"name: local\nchannels:\n  - file://{channel}\ndependencies:\n  - python={MINOR}\n  - {greeting}\n"


def test_an_environment_from_a_channel_runs_in_another_folder(
    channel: Path, environment_file: WriteFile, tmp_path: Path
) -> None:
    """Otherwise a machine with py-rattler and a channel gets no environment, or one bound to its folder."""
    spec = environment_file(spec_text(channel, "greeting=1"))
    packed = make_packed_environment(spec, destination=tmp_path / "env")
    assert (packed["provider"], packed["python"]) == ("rattler", MINOR)
    assert packed["packages"]["greeting"] == "1.0"

    elsewhere = (tmp_path / "env").rename(tmp_path / "elsewhere")
    assert (elsewhere / "bin" / "activate").is_file()
    code = "import greeting, sys; print(greeting.TEXT, sys.prefix)"
    assert run_bare(elsewhere / "bin" / "python3", code) == f"hello from 1.0 {elsewhere}"
    assert (elsewhere / "bin" / "greet").read_text().startswith("#!/usr/bin/env python")
    compiled = (elsewhere / "share" / "compiled").read_bytes()
    assert b"triton-environment-" not in compiled
    assert len(compiled) == len(COMPILED)

    make_packed_environment(spec, destination=tmp_path / "again")
    assert content_digest(tmp_path / "again") == content_digest(elsewhere)


def test_a_version_that_does_not_exist_stops_the_build(
    channel: Path, environment_file: WriteFile, tmp_path: Path
) -> None:
    """Otherwise the packages come from PyPI, where another package may have that name."""
    spec = environment_file(spec_text(channel, "greeting=3"))
    with pytest.raises(EnsembleError, match=r"no solution.*greeting"):
        make_packed_environment(spec, destination=tmp_path / "env")


def test_after_a_missing_channel_the_next_provider_is_tried(environment_file: WriteFile, tmp_path: Path) -> None:
    text = f"channels: ['file://{tmp_path}/none']\ndependencies: ['idna==3.10']\n"
    lines: list[str] = []
    packed = make_packed_environment(environment_file(text), destination=tmp_path / "env", progress=lines.append)
    assert packed["provider"] == "pypi"
    assert any(line.startswith("py-rattler cannot reach its channels") for line in lines)


def test_a_lock_of_a_channel_needs_one(environment_file: WriteFile, tmp_path: Path) -> None:
    """Otherwise packages of PyPI, which the lock does not know, take the place of conda's."""
    spec = environment_file(f"channels: ['file://{tmp_path}/none']\ndependencies: ['idna==3.10']\n")
    with pytest.raises(EnsembleError, match="its lock was made with a conda channel, and none can be reached"):
        install(spec, tmp_path / "prefix", print, Pins(("conda idna ==3.10 py_0",)))


def test_pinned_packages_of_the_channel_and_of_pip_are_installed_whatever_else_would_fit(
    channel: Path, environment_file: WriteFile, tmp_path: Path, wheel_index: Path
) -> None:
    """Otherwise a lock is written that does not hold for environments from channels, or for their section of pip."""
    add_wheel(wheel_index, "alpha", requires="beta")
    add_wheel(wheel_index, "beta", "1.0")
    first, of_pip = Pins(), "  - pip:\n    - alpha\n"
    old = environment_file(spec_text(channel, "greeting=1") + of_pip)
    make_packed_environment(old, destination=tmp_path / "old", pins=first)
    names = [line.removeprefix("conda ").partition(" ")[0] for line in first.found]
    assert sorted(names) == ["alpha==1.0", "beta==1.0", "greeting", "python"]
    add_wheel(wheel_index, "beta", "2.0")
    anything = environment_file(spec_text(channel, "greeting") + of_pip)
    make_packed_environment(anything, destination=tmp_path / "new", pins=Pins(tuple(first.found)))
    assert content_digest(tmp_path / "new") == content_digest(tmp_path / "old")
