"""A prefix becomes a tree that can stand anywhere: conda-pack's work, minus what doesn't travel.

conda-pack leaves the prefixes inside files to ``bin/conda-unpack``, to be run after unpacking. Triton never runs it. So
conda-pack is told a destination that is the same for every build (:data:`DESTINATION`): it writes that in the place of
the build's folder and adds no ``conda-unpack``. The path is wrong wherever Triton unpacks, and nothing that a step
does depends on it: Python finds its prefix from where its executable lies, extension modules find libraries through
``$ORIGIN`` and LD_LIBRARY_PATH, the first lines of scripts are rewritten below. What does remain wrong is build
information (``sysconfig``'s compiler flags), and, in environments from conda, compiled-in defaults such as OpenSSL's
folder of certificates; a step that calls out over TLS should name its certificates itself.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.environment.commands import CommandError, output_of
from triton_ensembles.errors import EnsembleError

DESTINATION = "/opt/triton-python-environment"

#: Globs of conda-pack (``*`` matches ``/`` too) for what no Python step uses. Byte code is left out because its time
#: stamps are wrong after unpacking; :mod:`.bytecode` makes what is needed anew.
DEFAULT_EXCLUDE = (
    "include/*",
    "man/*",
    "share/man/*",
    "share/doc/*",
    "share/info/*",
    "*.a",
    "*.la",
    "*/pkgconfig/*",
    "*/__pycache__/*",
    "lib/python3.*/test/*",
    "lib/python3.*/idlelib/*",
    "lib/python3.*/tkinter/*",
    "lib/python3.*/turtledemo/*",
    "lib/python3.*/ensurepip/*",
    "lib/python3.*/lib2to3/*",
    "lib/python3.*/pydoc_data/*",
    "lib/python3.*/config-3.*",
    "*/site-packages/*/tests/*",
    "*/site-packages/*.pyi",
    "*/site-packages/*.pxd",
    "*/site-packages/*.pyx",
    "*/site-packages/numpy/f2py/*",
    "*/site-packages/numpy/*core/include/*",
    "*/site-packages/numpy/*core/_simd.*",  # for its tests only; 4 MB
    "*/site-packages/numpy/distutils/*",
    "*/site-packages/pip/*",
    "*/site-packages/pip-*",
    "*/site-packages/setuptools/*",
    "*/site-packages/setuptools-*",
    "*/site-packages/_distutils_hack/*",
    "*/site-packages/distutils-precedence.pth",
    "*/site-packages/wheel/*",
    "*/site-packages/wheel-*",
)
_RECORD_FIELDS = (
    *("name", "version", "build", "build_number", "channel", "url", "fn", "md5", "sha256"),
    *("subdir", "noarch", "license", "depends"),
)
_HISTORY = "==> 1980-01-01 00:00:00 <==\n"


def pack_prefix(prefix: Path, tree: Path, exclude: Iterable[str], work: Path) -> None:
    """Let conda-pack pack ``prefix`` and unpack the result into the new folder ``tree``.

    The tree's text depends on what is installed, not on where ``prefix`` was, nor when. ``work`` holds temporary files.
    """
    (prefix / "conda-meta" / "history").write_text(_HISTORY, encoding="utf-8")
    packed = work / "packed.tar"
    command: list[str | Path] = [sys.executable, "-m", "conda_pack.cli", "--quiet", "--prefix", prefix]
    command += ["--output", packed, "--format", "tar", "--dest-prefix", DESTINATION]
    for pattern in (*DEFAULT_EXCLUDE, *exclude):
        command += ["--exclude", pattern]
    try:
        # conda-pack leaves its own temporary file behind when it's killed: let it lie in ours.
        output_of(command, environment={**os.environ, "TMPDIR": os.fspath(work)})
    except CommandError as error:
        raise EnsembleError(f"conda-pack can't pack the environment: {error.reason}") from error
    with tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # Python 3.11.4
        archive.extractall(tree)
    packed.unlink()
    _rewrite_first_lines(tree)
    for record in sorted((tree / "conda-meta").glob("*.json")):
        _shorten(record)


def _rewrite_first_lines(tree: Path) -> None:
    """Scripts that begin with the prefix's Python take the first ``python`` on PATH, which Triton makes the tree's."""
    for script in (tree / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            with script.open("rb") as file:
                first = file.readline(len(DESTINATION) + 100)
            if first.startswith(f"#!{DESTINATION}/bin/python".encode()):
                name = first.split()[0].rpartition(b"/")[2]
                script.write_bytes(b"#!/usr/bin/env " + name + b"\n" + script.read_bytes()[len(first) :])


def _shorten(record: Path) -> None:
    """Keep of a conda record what says which build it is: checksums of prefixed files and link types belong to the
    machine that installed it. Files that don't travel are struck from its list."""
    full = json.loads(record.read_text(encoding="utf-8"))
    short = {field: full[field] for field in _RECORD_FIELDS if field in full}
    tree = record.parent.parent
    short["files"] = sorted(name for name in full["files"] if os.path.lexists(tree / name))
    record.write_text(json.dumps({**short, "link": {"source": "", "type": 1}}, indent=1), encoding="utf-8")
