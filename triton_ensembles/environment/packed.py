"""From an environment file to one archive that Triton's EXECUTION_ENV_PATH takes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.write import write_archive
from triton_ensembles.environment.bytecode import compile_sources
from triton_ensembles.environment.libraries import required_glibc
from triton_ensembles.environment.pack import pack_prefix
from triton_ensembles.environment.providers import install
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.environment.tree import examine
from triton_ensembles.files import file_digest


@dataclass(frozen=True)
class PackedEnvironment:
    """A packed environment.

    ``python`` is the minor version that it really holds, which Triton's stub must have, too. ``provider`` is who
    installed it: mamba, micromamba, conda, rattler or pypi. ``packages`` maps the names of what is in the archive
    (lower case, dashes) to versions. ``glibc`` is the oldest glibc that it runs on, as its files say. ``size`` is in
    bytes.
    """

    path: Path
    python: str
    provider: str
    packages: dict[str, str]
    glibc: str
    sha256: str
    size: int


def make_packed_environment(
    spec: EnvironmentSpec,
    *,
    destination: Path,
    exclude: Iterable[str] = (),
    progress: Callable[[str], object] = lambda _: None,
    provider: str | None = None,
) -> PackedEnvironment:
    """Solve, install and pack ``spec`` into the ``.tar.gz`` at ``destination``.

    Args:
        exclude: conda-pack's globs of paths below the prefix (``*`` matches ``/`` too) of what need not travel, such as
            ``*/site-packages/huggingface_hub*``; they come on top of :data:`.pack.DEFAULT_EXCLUDE`.
        progress: called with a line whenever something long begins.
        provider: force one of :data:`.providers.PROVIDERS`; by default the first that can be used.

    The archive holds ``bin/activate`` (Triton up to 25.07 runs it, later ones look for it), the environment's own
    libpython, and has no files of its build's folder in it. Before it is written, its Python is run from another folder
    with a clean environment, and imports every requested package. It appears at ``destination`` at once and whole; on
    any error, and on Ctrl-C, what was there before is untouched and nothing is left behind.

    The same packages give the same bytes: always from conda packages; from PyPI for one and the same installed Python.

    Raises:
        EnsembleError: no solution, nothing to install from, or a result that doesn't work.
    """
    with tempfile.TemporaryDirectory(prefix="triton-environment-", ignore_cleanup_errors=True) as folder:
        work = Path(folder).resolve()
        prefix, tree = work / "prefix", work / "tree"
        used = install(spec, prefix, progress, provider)
        progress("packing with conda-pack")
        pack_prefix(prefix, tree, exclude, work)
        shutil.rmtree(prefix)
        progress("trying the packed environment")
        facts = examine(tree, spec)
        for note in tree.glob("lib/python3.*/site-packages/*.dist-info/*"):
            if note.name in _INSTALLERS_NOTES:
                note.unlink()
        compile_sources(tree, facts.sources)
        glibc = required_glibc(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
        progress(f"writing {destination.name}")
        write_archive(tree, destination, links=True)
    size = destination.stat().st_size
    return PackedEnvironment(destination, facts.python, used, facts.packages, glibc, file_digest(destination), size)


# What an installer notes for itself: which files it put where (most lists are wrong after excluding), and from where.
_INSTALLERS_NOTES = frozenset(("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"))
