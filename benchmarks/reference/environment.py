"""The reference's packed environment, made as AWS's conda_dependencies.sh makes it: installed, then packed as it is.

conda-pack gets nothing but the prefix: no file is left out. (:mod:`artifacts.environment`, which packs the
project's own environments, would leave out a tenth of it.)
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from triton_ensembles.artifacts.environment.packed import install
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.building.made.store import Store
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.programs import ProgramError, output_of, run_step
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import read_environment_file
from triton_ensembles.triton.pip_server import server_python

FILE = Path(__file__).with_name("processing.yml")
MEMBER = "processing_env.tar.gz"


def packed_environment(store: Store, progress: Progress) -> Path:
    """The packed environment in ``store``, made there if necessary: about 270 MB.

    Raises:
        EnsembleError: its packages are not available, or conda-pack fails.
    """
    origin = {"file": file_digest(FILE), "python": server_python(), "code": file_digest(Path(__file__))}

    def make(output: Path) -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="reference-environment-", ignore_cleanup_errors=True) as scratch:
            prefix = Path(scratch).resolve() / "prefix"
            provider = install(read_environment_file(FILE), prefix, progress, Pins())
            progress("compiling and packing the reference's environment")
            (prefix / "conda-meta" / "history").touch()  # conda-pack gives every file this one's time
            _compile(prefix)
            command: list[str | Path] = [sys.executable, "-m", "conda_pack.cli", "--quiet"]
            command += ["--prefix", prefix, "--output", output]
            failure = "conda-pack cannot pack the reference's environment"
            run_step(failure, command, environment={**os.environ, "TMPDIR": scratch})
        return {"provider": provider}

    return store.get_or_make(digest(origin), MEMBER, make)[0].path


def _compile(prefix: Path) -> None:
    """Byte code for every module, as conda makes it when it installs. Otherwise each start would compile torch."""
    options = ["-m", "compileall", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash"]
    with contextlib.suppress(ProgramError):  # a few files are templates of Python and cannot be compiled
        output_of([prefix / "bin" / "python3", *options, prefix / "lib"])
