"""A plan from what CloudWatch has seen of an endpoint: the local one, with real tritonservers."""

import json
import random
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from tests.deploy.conftest import export
from tests.hosting import archives
from triton_ensembles.commands.cli import main
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.rehearsal import ENDPOINT, create_endpoint
from triton_ensembles.endpoint.local import LocalEndpoint

pytestmark = pytest.mark.slow

MODELS = 5
REQUESTS = 112


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(tmp_path_factory.mktemp("endpoint"), "--memory-budget", "220M") as local:
        yield local


@pytest.fixture(scope="module")
def asked(local: LocalEndpoint, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An endpoint with memory for a part of its models, after some requests. Each has far more memory of its own than
    the server's files take, which count as little where other tests have them in memory too."""
    folder = tmp_path_factory.mktemp("archives")
    packed = {f"{number}.tar.gz": folder / f"{number}.tar.gz" for number in range(MODELS)}
    for number, archive in enumerate(packed.values()):
        archive.write_bytes(archives.packed(archives.model(f"echo{number}", "self.kept = b'1' * 40_000_000")))
    create_endpoint(local.url, "us-east-1", packed, PIP_SERVER, completes=True)
    runtime = local.client("sagemaker-runtime")
    chance = random.Random(1)
    often = [0, 1]
    request = {"EndpointName": ENDPOINT, "ContentType": "application/json", "Body": archives.body(1)}
    for number in range(REQUESTS):
        model = chance.randrange(MODELS) if number % 16 == 0 else often[number % 2]
        runtime.invoke_endpoint(TargetModel=f"{model}.tar.gz", **request)
    return ENDPOINT


@pytest.fixture
def variables(local: LocalEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    export(local, monkeypatch)


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--from-endpoint", *arguments])


def test_what_an_endpoint_did_says_what_more_instances_would(asked: str, variables: None) -> None:
    done = plan(asked, "--count", "1..3", "--hours", "0.1", "--format", "json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    seen, counts = document["observed"], document["counts"]
    assert (seen["models"], seen["instances"], seen["instance"]) == (MODELS, 1, "ml.c5.xlarge")
    assert seen["requests_per_second"] == pytest.approx(REQUESTS / 360)
    assert 0 < seen["cold"] < 0.5
    assert 1 < seen["loaded"] < MODELS
    assert seen["load_seconds"] > 0.05
    assert seen["unloads_per_second"] > 0
    assert seen["alpha"] > 0.5  # two of five were asked most of the time
    assert [count["instances"] for count in counts] == [1, 2, 3]
    assert counts[0]["cold"] == pytest.approx(seen["cold"], abs=1e-3)
    assert counts[0]["cold"] > counts[1]["cold"] >= counts[2]["cold"]
    assert counts[2]["cold"] < counts[0]["cold"] / 10  # how many are loaded on a busy machine is a little less
    assert counts[2]["dollars_a_month"] == pytest.approx(3 * 0.204 * 720)
    text = plan(asked, "--count", "2", "--hours", "0.1").output
    assert f"{ENDPOINT}: 1 x ml.c5.xlarge, {MODELS} models in S3" in text
    assert "2 x ml.c5.xlarge: " in text and "$293.76 a month" in text
    assert "(now)" in text


def test_an_endpoint_that_is_not_there_or_has_no_requests_gives_no_numbers(asked: str, variables: None) -> None:
    missing = plan("nowhere")
    assert "error: the endpoint nowhere does not exist" in missing.output
    profiled = CliRunner().invoke(main, ["plan", "a.json", "--from-endpoint", asked])
    assert "--from-endpoint excludes PROFILE" in profiled.output
