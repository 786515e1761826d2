"""A new ensemble in a project of its own: build, demo, perf and invoke need nothing else in the library."""

import json
import re
import tarfile
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY
from tests.commands.projects import run_in, write_ensemble
from tests.files import write_files
from triton_ensembles.pytest_plugin.rehearsal import Rehearsal

pytestmark = pytest.mark.slow

REQUEST = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [2, 4], "data": [[1, 2, 3, 0], [4, 5, 6.5, 0]]}]}
SHOW = """def show(inputs, outputs):
    for row, doubled in zip(inputs["X"], outputs["Y"]):
        yield f"twice {row.sum()} is {doubled.sum()}"
"""
RECIPE = 'description = "one"\n[environments.own]\nfile = "envs/processing.yml"\nsteps = ["double"]\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with ``doubler``, which has an example and a show.py, and ``silent``, which has none."""
    project = tmp_path_factory.mktemp("project")
    write_files(write_ensemble(project, "doubler"), {"rows.json": json.dumps(REQUEST), "show.py": SHOW})
    write_ensemble(project, "silent")
    return project


def test_the_archive_is_built_beside_the_ensembles_and_examples_do_not_change_it(project: Path) -> None:
    built = run_in(project, "build")
    assert built.exit_code == 0, built.output
    with tarfile.open(project / "dist" / "cpu" / "doubler.tar.gz") as tar:
        names = tar.getnames()
    assert "doubler.double/1/model.py" in names
    assert not [name for name in names if "examples" in name]
    (project / "ensembles" / "doubler" / "ensemble" / "examples" / "README.md").write_text("Two rows of numbers.\n")
    assert "unchanged, nothing to do" in run_in(project, "build", "doubler").output


def test_demo_sends_the_example_and_continues_where_there_is_none(project: Path) -> None:
    shown = run_in(project, "demo")
    assert shown.exit_code == 0, shown.output
    assert "rows.json\n  Y FP32 [2, 4]\n    twice 6.0 is 12.0\n    twice 15.5 is 31.0\n" in shown.output
    assert re.search(r"silent\nthere are no example requests in .*silent/ensemble/examples", shown.output)


def test_invoke_sends_the_example_to_an_endpoint(sagemaker_endpoint: Rehearsal, project: Path) -> None:
    assert run_in(project, "build").exit_code == 0
    assert run_in(project, "upload").exit_code == 0
    deployed = run_in(project, "deploy", "--role", "arn:aws:iam::123456789012:role/some-role")
    assert deployed.exit_code == 0, deployed.output
    invoked = run_in(project, "invoke", "doubler")
    assert invoked.exit_code == 0, invoked.output
    assert re.search(r"rows\.json in \d+ ms.*\n  Y FP32 \[2, 4\]\n    twice 6\.0 is 12\.0\n", invoked.output)
    (answer,) = json.loads(run_in(project, "invoke", "doubler", "--format", "json").stdout)["answers"]
    (output,) = answer["outputs"]
    assert output == {"name": "Y", "datatype": "FP32", "shape": [2, 4], "data": [2, 4, 6, 0, 8, 10, 13, 0]}
    refused = run_in(project, "invoke", "silent")
    assert refused.exit_code == 1
    assert "there are no example requests for silent; give the request with --body FILE" in refused.output


def test_check_without_paths_checks_the_project_and_its_environment_files(tmp_path: Path) -> None:
    """Otherwise the ensembles and the environment files of this checkout are judged instead."""
    write_ensemble(tmp_path, "packed")
    model = tmp_path / "ensembles" / "packed" / "double" / "1" / "model.py"
    file = tmp_path / "envs" / "processing.yml"  # this checkout has one of the same name, with tokenizers
    write_files(tmp_path, {"ensembles/packed/ensemble.toml": RECIPE})
    write_files(tmp_path, {"envs/processing.yml": "dependencies:\n  - python=3.9\n  - numpy=1.26.4\n"})
    model.write_text("import tokenizers\n" + MODEL_PY)
    checked = run_in(tmp_path, "check", "--image", "24.09")
    assert f"{model}:1:1: note[environment-import-unnamed]: {file} does not name 'tokenizers'" in checked.output
    assert f"{file}: warning[environment-file-python]: this requires Python 3.9" in checked.output
    assert "bert_trt" not in checked.output
