"""The environment made from PyPI and an installed Python runs on another machine, or is not written."""

import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.environment_files import WriteFile
from triton_ensembles.artifacts.environment import make_packed_environment
from triton_ensembles.ground.errors import EnsembleError

from .conftest import run_bare

pytestmark = pytest.mark.slow

MAPS = "[line.split(maxsplit=5)[5].strip() for line in open('/proc/self/maps') if ' r-xp ' in line and '/' in line]"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_result_describes_the_folder(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = packed
    assert facts["provider"] == "pypi"
    assert (facts["packages"]["numpy"], facts["packages"]["tokenizers"]) == ("1.26.4", "0.22.1")
    assert facts["packages"]["python"].startswith(facts["python"] + ".")
    assert "huggingface-hub" not in facts["packages"], "excluded, so not in it"
    assert facts["glibc"].startswith("2.")
    for name in ("bin/activate", f"lib/libpython{facts['python']}.so.1.0"):  # which Triton's stub needs
        assert (folder / name).is_file()
    for name in ("python", "python3"):
        assert (folder / "bin" / name).stat().st_size < 100, "the program of 25 MB is stored once"


@pytest.mark.parametrize("with_library_path", [False, True], ids=["bare", "as Triton starts it"])
def test_it_runs_in_another_folder_with_its_own_libraries(unpacked: Path, with_library_path: bool) -> None:
    """Otherwise a step runs on the build machine only, or silently on another Python's libraries."""
    settings = {"LD_LIBRARY_PATH": f"{unpacked}/lib"} if with_library_path else {}
    loaded = run_bare(
        unpacked / "bin" / "python3",
        f"import numpy, tokenizers, ssl, sqlite3, ctypes, lzma, bz2, zlib, sys; print(sys.prefix, *{MAPS}, sep='\\n')",
        **settings,
    ).splitlines()
    assert loaded[0] == str(unpacked)
    foreign = [Path(name).name for name in loaded[1:] if not name.startswith(str(unpacked))]
    outside = {name.split(".so")[0].split("-")[0] for name in foreign}
    systems = {"libc", "libm", "libdl", "librt", "libpthread", "libresolv", "libstdc++", "libgcc_s", "ld"}
    if not with_library_path:
        systems.add("libz")  # a manylinux wheel may take the system's
    assert outside <= systems, loaded


def test_no_text_file_names_a_folder_of_the_build(unpacked: Path) -> None:
    known = (tempfile.gettempdir() + "/triton-environment-", sys.prefix, sysconfig.get_config_var("prefix"))
    for path in unpacked.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix in ("", ".py", ".json", ".txt", ".cfg"):
            content = path.read_bytes()
            if not content.startswith(b"\x7fELF"):
                assert not [name for name in known if name != "/usr" and name.encode() in content], path


def test_only_imported_modules_have_byte_code(unpacked: Path) -> None:
    """Otherwise a cold start compiles 150 modules, or the archive is a fifth larger."""
    modules = run_bare(
        unpacked / "bin" / "python3",
        "import asyncio, encodings.ascii, encodings.latin_1, json, numpy, os, struct, tokenizers, sys\n"
        "specs = [m.__spec__ for m in sys.modules.values() if getattr(m, '__spec__', None)]\n"
        "print(*[s.cached for s in specs if s.cached], sep='\\n')",
    ).splitlines()
    assert len(modules) > 100
    assert [name for name in modules if not Path(name).exists()] == []
    assert {str(path) for path in unpacked.rglob("*.pyc")} <= set(modules)


def test_an_environment_that_cannot_be_imported_is_not_written(environment_file: WriteFile, tmp_path: Path) -> None:
    destination = tmp_path / "out" / "env"
    destination.mkdir(parents=True)
    spec = environment_file("channels: ['file:///none']\ndependencies:\n  - certifi\n  - idna==3.10\n")
    with pytest.raises(EnsembleError, match=r"idna\.core|does not work"):
        make_packed_environment(spec, destination=destination, exclude=("*/idna/core.py",))
    with pytest.raises(EnsembleError, match="nothing is left of idna"):
        make_packed_environment(spec, destination=destination, exclude=("*/idna/*",))
    assert names(destination) == []
    assert names(destination.parent) == ["env"]


def test_ctrl_c_leaves_no_files(environment_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def interrupt(line: str) -> None:
        if line.startswith("packing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spec = environment_file("channels: ['file:///none']\ndependencies:\n  - idna==3.10\n")
        make_packed_environment(spec, destination=tmp_path / "env", progress=interrupt)
    assert names(tmp_path) == ["environment.yml", "temporary"]
    assert names(tmp_path / "temporary") == []


def test_a_version_that_does_not_exist_is_named(environment_file: WriteFile, tmp_path: Path) -> None:
    spec = environment_file("channels: ['file:///none']\ndependencies:\n  - idna==0.0.999\n")
    with pytest.raises(EnsembleError, match=r"idna==0\.0\.999"):
        make_packed_environment(spec, destination=tmp_path / "env")
