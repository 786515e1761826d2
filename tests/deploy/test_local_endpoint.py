"""The commands and the example with the real local endpoint: boto3, HTTP, tritonserver."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from checkout import ROOT
from tests.commands.projects import succeeded
from tests.deploy.conftest import DESIRED, ROLE, MakeArchive, Run, container
from tests.hosting.archives import body
from triton_ensembles.building.built import Built
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.endpoint.local import LocalEndpoint

NAME = ("--endpoint", "rehearsal")
DEPLOY = (*NAME, "--role", ROLE)


def nothing_left(local: LocalEndpoint) -> bool:
    client = local.client("sagemaker")
    lists = (client.list_endpoints, client.list_endpoint_configs, client.list_models, local.client("s3").list_buckets)
    answers = [call() for call in lists]
    return not any(resources for answer in answers for resources in answer.values() if isinstance(resources, list))


def request(folder: Path, *numbers: int) -> Path:
    path = folder / "request.json"
    path.write_bytes(body(*numbers))
    return path


@pytest.mark.slow
def test_all_ensembles_from_upload_to_undeploy(run: Run, local: LocalEndpoint, built: dict[str, Built]) -> None:
    """What make upload deploy invoke status undeploy do."""
    random = [each.name for each in built.values() if each.manifest["weights"] == "random"]
    allow = ["--allow-random"] if random else []
    if random:
        assert "RANDOM WEIGHTS" in run("upload", *NAME).output
    assert run("upload", *NAME, *allow).exit_code == 0
    deployed = succeeded(run("deploy", *DEPLOY, *allow))
    assert "cost: USD" in deployed.output
    # The configs are complete; completing them again takes a second for each Python step.
    assert container(local)["Environment"]["SAGEMAKER_TRITON_ADDITIONAL_ARGS"] == "--disable-auto-complete-config"

    asked = succeeded(run("invoke", *NAME))
    assert re.search(r"finaloutput FP32 \[4, 384\]\n +cosine .*\n +1\.000  A cat sleeps", asked.output)
    assert re.search(r"OUTPUT BYTES \[1, 3\]\n +0\.\d+ +\d+ ", asked.output)
    assert re.search(r"OUTPUT__0 BYTES \[1, 3\]\n +\d+\.\d+ +\d+ ", asked.output)
    warm = run("invoke", "bert_trt", *NAME, "--text", "one", "--text", "one")
    assert re.search(r"2 texts in \d+ ms\n.*\n.*\n +1\.000  one\n +1\.000  one", warm.output)

    shown = run("status", *NAME)
    assert shown.exit_code == 0
    assert "rehearsal: InService" in shown.output
    assert ("RANDOM WEIGHTS" in shown.output) == bool(random)
    assert run("undeploy", *NAME).exit_code == 0
    assert nothing_left(local)


@pytest.fixture
def uploaded(run: Run, archive: Archive) -> Archive:
    assert run("upload", archive.path, *NAME).exit_code == 0
    return archive


BROKEN = ("--env", "SAGEMAKER_TRITON_ADDITIONAL_ARGS=--no-such-flag")


def test_an_endpoint_that_cannot_start_leaves_nothing(run: Run, local: LocalEndpoint, uploaded: Archive) -> None:
    """Otherwise it would go on costing money on AWS."""
    result = run("deploy", uploaded.path, *DEPLOY, *BROKEN)
    assert result.exit_code == 1
    assert "did not get into service: The container did not pass the ping health check" in result.output
    client = local.client("sagemaker")
    assert client.list_endpoints()["Endpoints"] == client.list_endpoint_configs()["EndpointConfigs"] == []
    assert client.list_models()["Models"] == []


@pytest.mark.usefixtures("run")
def test_ctrl_c_while_it_is_created_waits_and_deletes_it(local: LocalEndpoint) -> None:
    """SageMaker refuses to delete what is being created; giving up would leave it running and costing money."""
    said: list[str] = []

    def interrupt(line: str) -> None:
        said.append(line)
        if "Creating" in line and said.count(line) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deploy_endpoint(Aws(), replace(DESIRED, image=PIP_SERVER), interrupt, 60)
    assert said.count("an-endpoint: Creating (0 s)") == 2 and "rolling back: deleting the endpoint an-endpoint" in said
    assert nothing_left(local)


def test_a_new_archive_needs_no_new_endpoint_and_errors_are_shown(
    run: Run, uploaded: Archive, make_archive: MakeArchive, tmp_path: Path
) -> None:
    """Triton's own words for a wrong request, SageMaker's for an archive that does not exist."""
    run("deploy", uploaded.path, *DEPLOY)
    second = make_archive("second")
    run("upload", second.path, *NAME)
    succeeded(run("invoke", second.path, *NAME, "--body", request(tmp_path, 7)))
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"inputs": []}')
    refused = run("invoke", uploaded.key, *NAME, "--body", wrong)
    assert re.search(r"answered 400: .*expected 1 inputs but got 0.*; the endpoint's log .*: file:", refused.output), (
        refused
    )
    missing = run("invoke", "no-such.tar.gz", *NAME, "--body", wrong)
    assert "ValidationError: Failed to download model data" in missing.output


@pytest.mark.slow
def test_the_example_runs(local: LocalEndpoint, built: dict[str, Built]) -> None:
    """It prints sensible answers and deletes all that it created."""
    command = [sys.executable, os.fspath(ROOT / "examples" / "sagemaker_mme.py")]
    environment = {**local.environment(), "PYTHONPATH": os.fspath(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    likenesses = [float(each) for each in re.findall(r"^bert_trt: +(-?[\d.]+) ", done.stdout, re.MULTILINE)]
    assert likenesses[0] == pytest.approx(1, abs=1e-3)
    assert likenesses[1] > 0.5 > likenesses[2]
    assert re.search(r"^dali_inception: class \d+ with 0\.\d+$", done.stdout, re.MULTILINE)
    assert "not deleted" not in done.stdout
    assert nothing_left(local)


def test_the_example_runs_unchanged_on_aws() -> None:
    """It names no address: only AWS_ENDPOINT_URL decides where it runs."""
    text = (ROOT / "examples" / "sagemaker_mme.py").read_text()
    assert not re.search(r"endpoint_url|127\.0\.0\.1|localhost|AWS_ENDPOINT_URL", text)
