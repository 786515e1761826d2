"""The virtual environment of the peers, made once per version of requirements.txt."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ROOT

PEERS = ROOT / ".bench-peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def peers_venv(progress: Callable[[str], None]) -> Path:
    """The folder of the environment, made if it is missing or was made for other versions (1.6 GB, some minutes).

    Raises:
        EnsembleError: pip failed; with its last lines.
    """
    venv = PEERS / "venv"
    ready = venv / "ready"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if ready.is_file() and ready.read_text() == wanted:
        return venv
    progress(f"installing the peers into {PEERS.name}/ (1.6 GB)")
    shutil.rmtree(venv, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(venv)])
    _run([str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)])
    ready.write_text(wanted)
    return venv


def installed(venv: Path, package: str) -> str:
    """The version of a package that requirements.txt pins."""
    (found,) = venv.glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info")
    return found.name.removesuffix(".dist-info").rpartition("-")[2]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        reason = " / ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise EnsembleError(f"pip could not install the peers: {reason}", path=REQUIREMENTS)
