"""Exit codes, alike in all commands: 2 for a command line that is wrong, 1 for what is wrong with what it names."""

from pathlib import Path

import pytest

from tests.commands.projects import run_in, write_ensemble, write_faulty
from triton_ensembles.commands.cli import COMMANDS

USAGE = (
    *(f"{command} absent" for command in ("check", "graph", "serve", "perf", "profile", "build", "demo", "endpoint")),
    *(f"{command} ./absent" for command in ("check", "graph", "serve", "perf", "profile", "build", "endpoint")),
    "check --run absent", "tune absent --p99 9ms", "engines absent --output o", "list absent", "prune absent",
    "build whole --target gpu", "build whole --target gpu --image my:tag", "build whole --instance ml.g5.xlarge",
    "diff cpu cpu", "diff cpu tpu", "serve --http-port 99999", "check --image 9.9", "setup --image 9.9", "new",
    "clone absent.tar.gz", "upload absent.tar.gz", "deploy absent.tar.gz", "plan", "gateway absent",
    "invoke --body absent", "upgrade absent --from 24.09 --to 26.05", "upgrade whole --from 26.05 --to 24.09",
    "autoscale absent", "status absent", "undeploy absent", "schema absent", "check empty",
    "upgrade empty --from 24.09 --to 26.05", "export haproxy absent", "host absent", "lsp absent",
)  # fmt: skip
FAULTS = ("check faulty", "build faulty", "serve faulty", "demo faulty", "perf faulty")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    write_faulty(project)
    write_ensemble(project, "whole")
    (project / "empty").mkdir()
    return project


@pytest.mark.parametrize(
    ("line", "code"), [*((line, 2) for line in USAGE), *((line, 1) for line in FAULTS), ("check whole", 0)]
)
def test_in_a_project(project: Path, line: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = run_in(project, *line.split())
    assert result.exit_code == code, result.output


def test_the_table_has_every_command() -> None:
    assert {line.split()[0] for line in USAGE} == COMMANDS.keys()
