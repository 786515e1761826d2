"""The virtual environment of the peers, beside the project's own: made once per version of their requirements."""

import shutil
import sys
from pathlib import Path

from checkout import ROOT
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.programs import run_step
from triton_ensembles.ground.progress import Progress

PEERS = ROOT / ".bench-peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def peers_venv(progress: Progress) -> Path:
    """The folder (1.6 GB, some minutes), made if it is missing or was made for other versions.

    Raises:
        EnsembleError: pip failed, with its reason.
    """
    venv = PEERS / "venv"
    ready, versions = venv / "ready", digest([file_digest(REQUIREMENTS), sys.version])
    if ready.is_file() and ready.read_text() == versions:
        return venv
    progress(f"installing the peers into {PEERS.name}/")
    shutil.rmtree(venv, ignore_errors=True)
    pip: list[str | Path] = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS]
    run_step("the environment of the peers could not be made", [sys.executable, "-m", "venv", venv])
    run_step("pip could not install the peers", pip, path=REQUIREMENTS)
    ready.write_text(versions)
    return venv


def installed(venv: Path, package: str) -> str:
    """The version of a package that is pinned there."""
    (folder,) = venv.glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info")
    return folder.name.removesuffix(".dist-info").rpartition("-")[2]
