"""Lets conda-pack turn a prefix into a relocatable folder, without the files that no step needs.

Triton never runs ``bin/conda-unpack``, to which conda-pack leaves the prefixes inside files. So every build names the
same :data:`DESTINATION`. No step depends on it: Python finds its prefix relative to its executable, extension modules
find libraries through ``$ORIGIN`` and LD_LIBRARY_PATH, and first lines of scripts are rewritten. Wrong remain
``sysconfig`` and conda's compiled-in defaults, such as OpenSSL's certificates, which a step with TLS should name.
"""

import json
import os
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.artifacts.environment.left_out import DEFAULT_EXCLUDE, OF_A_PREFIX
from triton_ensembles.ground.programs import run_step

DESTINATION = "/opt/triton-python-environment"

_RECORD_FIELDS = (
    *("name", "version", "build", "build_number", "channel", "url", "fn", "md5", "sha256"),
    *("subdir", "noarch", "license", "depends"),
)
_HISTORY = "==> 1980-01-01 00:00:00 <==\n"


def pack_prefix(prefix: Path, tree: Path, exclude: Iterable[str], work: Path) -> None:
    """Pack ``prefix`` with conda-pack and unpack the result, which depends only on what is installed, into the new
    folder ``tree``. ``work`` is a folder for temporary files."""
    (prefix / "conda-meta" / "history").write_text(_HISTORY, encoding="utf-8")
    packed = work / "packed.tar"
    command: list[str | Path] = [sys.executable, "-m", "conda_pack.cli", "--quiet", "--prefix", prefix]
    command += ["--output", packed, "--format", "tar", "--dest-prefix", DESTINATION]
    for pattern in (*DEFAULT_EXCLUDE, *OF_A_PREFIX, *exclude):
        command += ["--exclude", pattern]
    settings = {**os.environ, "TMPDIR": os.fspath(work)}  # when killed, conda-pack leaves a temporary file behind
    run_step("conda-pack cannot pack the environment", command, environment=settings)
    with tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # Python 3.11.4
        archive.extractall(tree)
    packed.unlink()
    _rewrite_first_lines(tree)
    for record in (tree / "conda-meta").glob("*.json"):
        _shorten(record)


def _rewrite_first_lines(tree: Path) -> None:
    """Make scripts of the prefix's Python use the first ``python`` on PATH, which in Triton's stub is the tree's."""
    for script in (tree / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            with script.open("rb") as file:
                first = file.readline(len(DESTINATION) + 100)
            if first.startswith(f"#!{DESTINATION}/bin/python".encode()):
                name = first.split()[0].rpartition(b"/")[2]
                script.write_bytes(b"#!/usr/bin/env " + name + b"\n" + script.read_bytes()[len(first) :])


def _shorten(record: Path) -> None:
    """Keep what identifies the build in a conda record, not what depends on this machine, and the files of the tree."""
    full = json.loads(record.read_text(encoding="utf-8"))
    short = {field: full[field] for field in _RECORD_FIELDS if field in full}
    tree = record.parent.parent
    short["files"] = sorted(name for name in full["files"] if os.path.lexists(tree / name))
    record.write_text(json.dumps({**short, "link": {"source": "", "type": 1}}, indent=1), encoding="utf-8")
