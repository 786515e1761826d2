"""Projects of small ensembles, and the command line run in them, in this process and in one of its own."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from checkout import ROOT
from tests.checking.packing import MODEL_PY, ensemble_of, python_step
from tests.files import edit, write_files
from triton_ensembles.commands.cli import main
from triton_ensembles.project.examples.place import examples_folder


def run(*arguments: object) -> Result:
    """Run the command in this process and the current folder."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def run_in(project: Path, *arguments: str | Path) -> Result:
    """Run the command in this process, for a project."""
    return run("--project", project, *arguments)


def succeeded(result: Result) -> Result:
    """The result, of a command that must have succeeded: otherwise what it printed is shown."""
    assert result.exit_code == 0, result.output
    return result


def write_ensemble(project: Path, name: str) -> Path:
    """Write an ensemble of one Python step, without examples; returns the folder for them."""
    files = {"ensemble/1/README.md": "No files of its own.\n", "ensemble/config.pbtxt": ensemble_of("double")}
    files |= {"double/1/model.py": MODEL_PY.replace('"Y", x', '"Y", 2 * x'), "double/config.pbtxt": python_step()}
    files["ensemble.toml"] = 'description = "Four numbers to twice their values"\n'
    return examples_folder(write_files(project / "ensembles" / name, files))


def write_faulty(project: Path, name: str = "faulty") -> None:
    """Write an ensemble whose DAG names a model that does not exist."""
    write_ensemble(project, name)
    config = project / "ensembles" / name / "ensemble" / "config.pbtxt"
    edit(config, 'model_name: "double"', 'model_name: "triple"')


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
