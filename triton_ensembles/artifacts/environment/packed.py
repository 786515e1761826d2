"""From an environment file to the folder that Triton's EXECUTION_ENV_PATH names, and which is used where it lies.

It holds ``bin/activate`` (Triton up to 25.07 runs it, later releases only require it) and libpython, does not depend on
the build's folder, has no links (SageMaker refuses archives with any), and Python writes no byte code into it. The same
packages give the same bytes, from PyPI if the installed Python is also the same. Triton before 23.07, which takes only
a .tar.gz (python_backend #266), is not built for.
"""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts.environment.bytecode import compile_with
from triton_ensembles.artifacts.environment.conda import ProviderUnavailableError, install_with_rattler
from triton_ensembles.artifacts.environment.conda_pack import pack_prefix
from triton_ensembles.artifacts.environment.inspection import clean_environment, inspect_environment
from triton_ensembles.artifacts.environment.left_out import INSTALLER_FILES
from triton_ensembles.artifacts.environment.libraries import required_glibc
from triton_ensembles.artifacts.environment.links import replace_links
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pypi import install_from_pypi
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import write_whole
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec

# The stub ignores PYTHONDONTWRITEBYTECODE, and Triton loads a model again whose folder has new files (2.51.0).
_NO_BYTE_CODE = ("no-byte-code.pth", "import sys; sys.dont_write_bytecode = True\n")


def make_packed_environment(
    spec: EnvironmentSpec,
    *,
    destination: Path,
    exclude: Iterable[str] = (),
    progress: Progress = lambda _: None,
    pins: Pins | None = None,
) -> dict[str, Any]:
    """Solve and install ``spec``, and pack it with conda-pack into the folder ``destination``, which is replaced in one
    step. Raises :class:`EnsembleError`: the file has no solution, its packages are not available, or the environment
    does not work.

    ``exclude``: globs of paths below the prefix, as conda-pack takes them (``*`` also matches ``/``), of files to leave
    out besides :data:`.left_out.DEFAULT_EXCLUDE`; ``pins``: the packages to install, if it has any; those that were
    installed are noted in it.

    Returns its facts for the manifest: ``python``, its minor version, such as "3.11", which Triton's stub must be built
    for; ``provider``, rattler or pypi; ``packages``, their versions by name (lower case, dashes); ``glibc``, the oldest
    that it runs on, such as "2.34", or "" if no file requires one.
    """
    with tempfile.TemporaryDirectory(prefix="triton-environment-", ignore_cleanup_errors=True) as folder:
        work = Path(folder).resolve()
        prefix, tree = work / "prefix", work / "tree"
        used = install(spec, prefix, progress, pins or Pins())
        progress("packing with conda-pack")
        pack_prefix(prefix, tree, exclude, work)
        shutil.rmtree(prefix)
        replace_links(tree)
        progress("testing the packed environment")
        python, packages, sources = inspect_environment(tree, spec)
        _remove_installers_files(tree)
        # Otherwise the first import on every machine would compile every module: 0.7 s instead of 0.2 s with numpy and
        # tokenizers. This adds 1 MB to an archive of 27 MB; byte code of everything would add 6.5 MB.
        compile_with([tree / "bin" / "python3"], tree, sources, clean_environment(tree))
        glibc = required_glibc(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
        site_packages = tree / "lib" / f"python{python}" / "site-packages"
        (site_packages / _NO_BYTE_CODE[0]).write_text(_NO_BYTE_CODE[1], encoding="utf-8")
        with write_whole(destination) as partial:
            shutil.move(tree, partial)
    return {"python": python, "provider": used, "packages": packages, "glibc": glibc}


def _remove_installers_files(tree: Path) -> None:
    for file in tree.glob("lib/python3.*/site-packages/*.dist-info/*"):
        if file.name in INSTALLER_FILES:
            file.unlink()


def install(spec: EnvironmentSpec, prefix: Path, progress: Progress, pins: Pins) -> str:
    """Install ``spec`` into the new folder ``prefix``, from its channels, or else from PyPI, and return the provider's
    name. Raises :class:`EnsembleError`: it has no solution, or its lock is for channels and none can be reached."""
    if not pins.given or pins.from_conda:
        try:
            install_with_rattler(spec, prefix, progress, pins)
            return "rattler"
        except ProviderUnavailableError as error:
            if pins.given:
                message = "its lock was made with a conda channel, and none can be reached"
                cure = "build where one can, or delete the lock"
                raise EnsembleError(message, path=spec.path, cure=cure) from error
            progress(f"{error}; trying PyPI")
    install_from_pypi(spec, prefix, progress, pins)
    return "pypi"
