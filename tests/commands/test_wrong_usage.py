"""Exit codes, alike in all commands: 2 for a command line that is wrong, which is said in one line before anything is
built or asked, and 1 for what is wrong with what it names."""

import shlex
from pathlib import Path

import pytest

from tests.commands.projects import run_in, write_ensemble, write_faulty
from tests.repositories import pack, write_chain
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

_TUNE = "tune whole --p99 5ms"
_DEPLOY = "deploy six.tar.gz --bucket some-bucket --role arn:some"
# What is said of a command line.
WORDS = [
    ("bild", "No such command 'bild'. Did you mean 'build'?"),
    ("serve no/pe", "no/pe: there is no such file"),
    # Options that exclude or need others.
    ("check --baseline a --write-baseline b", "--baseline excludes --write-baseline"),
    ("check --fix --run --format json", "--fix excludes --run and --format"),
    ("check --write", "--write goes with --fix"),
    ("clone x --variants table.csv --count 2", "--variants excludes --count: its table has the names"),
    ("deploy --role r --single --no-cache", "--single excludes --no-cache"),
    ("deploy --role r --image 24.09 --image-uri some/image:1", "--image excludes --image-uri"),
    ("endpoint x.tar.gz --s3-url http://127.0.0.1:9", "--s3-url excludes PATH|ARCHIVE|ENSEMBLE"),
    ("invoke one --body table.csv --text x", "--body excludes --text"),
    ("invoke one two --output x", "--output takes the answer of one MODEL"),
    ("new x --with pandas", "--requirements and --with are for --from"),
    *(
        (f"{command} models {option}", f"{option.partition(' ')[0]} is for what is built, and 'models' is taken as it")
        for command in ("serve", "perf", "build")
        for option in ("--target cpu", "--weights pretrained", "--instance ml.c5.large", "--weights-dir .")
    ),
    # Images, instance types and targets.
    ("check --image 99.99", "'99.99' does not name a known release of Triton; the known releases are 22.07, "),
    ("check --image 24.9", "did you mean 24.09?"),
    ("check --image 2.51.0", "did you mean 24.10?"),
    ("check --image latest", "an image of your own is written as name:tag"),
    ("build --target fused --image 99.99", "'99.99' does not name a known release of Triton"),
    ("deploy --role r --image 99.99", "'99.99' does not name a known release of Triton"),
    ("check --instance ml.nope.xlarge", "is not a known instance type; the known families are p2, "),
    ("check --instance ml.g55.xlarge", "did you mean ml.g5.xlarge?"),
    ("check --instance ml.g5", "is a family, not an instance type; write a size such as large"),
    ("build --target fused --instance ml.g5.xxlarge", "knows no size 'xxlarge'; write a size such as large"),
    ("deploy --role r --instance ml.g5.xxlarge", "knows no size 'xxlarge'; write a size such as large"),
    ("build --target fused --image 23.04", "has Python 3.8, and a fused ensemble needs 3.10"),
    *(
        (f"{command} whole --target gpu --image 24.09", "--target gpu is served by NVIDIA's image")
        for command in ("serve", "demo", "perf", "tune --p99 5ms")
    ),
    ("upgrade --from 26.05 --to 24.09", "--to 24.09 is not newer than --from 26.05: check --image 24.09 finds"),
    ("upgrade --from 24.09 --to 24.09", "--to 24.09 is not newer"),
    ("upgrade --from 24.09 --to mine:1.0", "mine:1.0 names no release of Triton"),
    ("upgrade --to 26.05", "Missing option '--from'"),
    # The values of options.
    ("check --explain max-batch-size", "no rule 'max-batch-size'; did you mean 'max-batch-size-negative'?"),
    ("check --explain step_model_mising", "no rule 'step_model_mising'; did you mean 'step-model-missing'?"),
    ("check --explain xyz", "there is no rule 'xyz'; check --explain lists the rules"),
    *((f"perf --concurrency {text}", "is not a list such as 1,2,4") for text in ("''", "0", "1,x", "1:4")),
    ("perf whole --shape NONE:3", "--shape: whole has no input 'NONE'; it has X"),
    ("perf whole --shape X=4", "'X=4' is not a shape such as IMAGE:3,224,224"),
    ("perf whole --shape X:3", "--shape: X has the dims [4]"),
    ("perf whole --shape X:4,4", "--shape: X has the dims [4]"),
    ("perf --shape X:4", "--input-data and --shape are for one ensemble: name it"),
    ("tune whole", "a search has one goal: give --p99 TIME or --throughput NUMBER"),
    (f"{_TUNE} --throughput 9", "a search has one goal"),
    ("tune whole --p99 0", "'0' is not a time above 0 such as 50ms or 1.5s"),
    ("tune whole --p99 50", "'50' is not a time above 0"),
    ("tune whole --throughput nan", "is not a number above 0"),
    (f"{_TUNE} --shape X", "'X' is not a shape such as IMAGE:3,224,224"),
    (f"{_TUNE} --keep instance", "there is no setting 'instance' to keep; there are"),
    ("tune nothing --p99 5ms", "there is no ensemble 'nothing'; there are faulty, whole"),
    ("deploy six.tar.gz", "--role"),
    (f"{_DEPLOY} --env NAME", "--env takes KEY=VALUE, not 'NAME'"),
    (f"{_DEPLOY} twin.tar.gz --single", "--single serves one archive, and these are 2: six, twin"),
    ("autoscale", "--metric invocations needs --target-value"),
    ("autoscale --min 3 --target-value 1", "--min 3 is more than --max 2"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    write_faulty(project)
    write_ensemble(project, "whole")
    (project / "empty").mkdir()
    (project / "table.csv").write_text("name\n")
    write_chain(project / "models")
    for name in ("six", "twin"):
        pack(project / "models", project / f"{name}.tar.gz")
    return project


@pytest.fixture(autouse=True)
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("SAGEMAKER_ROLE", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.parametrize(
    ("line", "code"), [*((line, 2) for line in USAGE), *((line, 1) for line in FAULTS), ("check whole", 0)]
)
def test_in_a_project(project: Path, line: str, code: int) -> None:
    result = run_in(project, *line.split())
    assert result.exit_code == code, result.output


@pytest.mark.parametrize(("line", "words"), WORDS, ids=[line for line, _ in WORDS])
def test_what_is_wrong_is_said_in_one_line_before_anything_is_built(project: Path, line: str, words: str) -> None:
    """Otherwise a typo costs minutes of building and starting a server, or is taken for something else."""
    result = run_in(project, *shlex.split(line))
    assert (result.exit_code, words in " ".join(result.output.split())) == (2, True), result.output
    assert len([line for line in result.output.splitlines() if "rror:" in line]) == 1
    assert "Traceback" not in result.output and not [*project.rglob("*.tar.gz.partial"), *project.glob("dist/*/*")]


def test_the_table_has_every_command() -> None:
    assert {line.split()[0] for line in USAGE} == COMMANDS.keys()
