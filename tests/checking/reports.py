"""Repositories with known faults for the tests of formats, baselines and suppressions."""

from pathlib import Path

from click.testing import CliRunner, Result

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.commands.cli import main

NEGATIVE = python_model(size=-1)  # line 2: max-batch-size-negative
MISSING = "version_policy { specific { versions: [ 1, 2 ] } }"  # a warning: version-missing


def write_model(repository: Path, config: str, name: str = "scale") -> Path:
    """Write a Python model; returns its config.pbtxt."""
    stage(Example(config), repository, name)
    return repository / name / "config.pbtxt"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])
