"""Projects of small ensembles, and the command line run in them, in this process and in one of its own."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from checkout import ROOT
from triton_ensembles.commands.cli import main


def run_in(project: Path, *arguments: str | Path) -> Result:
    """The command in this process."""
    return CliRunner().invoke(main, ["--project", str(project), *map(str, arguments)])


def command(project: Path, *arguments: str | Path) -> list[str]:
    """The words that run the command line in a process of its own."""
    return [sys.executable, os.fspath(ROOT / "build.py"), "--project", str(project), *map(str, arguments)]


def done_in(
    project: Path, *arguments: str | Path, largest_file: int = resource.RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which may write files of ``largest_file`` bytes."""
    limits = (largest_file, largest_file)
    return subprocess.run(
        command(project, *arguments),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
    )
