"""The gateway's container on an endpoint, through boto3: two variants, their ends and restarts, and the log."""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.conftest import BUCKET, Deployer
from tests.endpoint.hosting import archives
from tests.endpoint.test_metrics import samples
from tests.gateway.repository import files
from tests.triton.test_server import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.processes import children, descendants

IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/triton-ensembles-gateway:1"
NAME = "by-name"


@pytest.fixture(scope="module")
def endpoint(local: LocalEndpoint, sagemaker: Any, s3: Any) -> Iterator[str]:
    """Three of four requests are for "old", whose model adds 1; "new" adds 100."""
    newer = files()["numbers/1/model.py"].replace(b"x + 1", b"x + 100")
    deployer = Deployer(local, sagemaker, [])
    variants = []
    for name, changed, weight in (("old", {}, 3), ("new", {"numbers/1/model.py": newer}, 1)):
        s3.put_object(Bucket=BUCKET, Key=f"gateway/{name}.tar.gz", Body=archives.packed({**files(), **changed}))
        url = f"s3://{BUCKET}/gateway/{name}.tar.gz"
        deployer.model(f"{NAME}-{name}", url, "SingleModel", Image=IMAGE)
        variants.append(
            {
                "VariantName": name,
                "ModelName": f"{NAME}-{name}",
                "InitialInstanceCount": 1,
                "InstanceType": "ml.g4dn.xlarge",
                "InitialVariantWeight": weight,
            }
        )
    sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=variants)
    yield deployer.endpoint(NAME, NAME)
    sagemaker.delete_endpoint(EndpointName=NAME)


@pytest.fixture
def ask(runtime: Any, endpoint: str) -> Callable[..., tuple[str, Any]]:
    def ask(name: str, payload: dict[str, Any], **options: Any) -> tuple[str, Any]:
        """The variant that answered, and the result."""
        body = json.dumps({"modelname": name, "payload": payload})
        answer = runtime.invoke_endpoint(EndpointName=endpoint, Body=body, **options)
        return answer["InvokedProductionVariant"], json.load(answer["Body"])["result"]

    return ask


Ask = Callable[..., tuple[str, Any]]


def container(local: LocalEndpoint, variant: str) -> int:
    """The process that the platform has started for a variant."""
    for pid in descendants(local.pid):
        command = Path(f"/proc/{pid}/cmdline").read_text()
        if "triton_ensembles.gateway" in command and f"/{variant}/0/" in command:
            return pid
    raise AssertionError(f"no container of {variant} runs")


def test_variants_share_the_requests_and_are_counted_apart(ask: Ask, local: LocalEndpoint) -> None:
    counts = {variant: invocations(local, variant) for variant in ("new", "old")}
    answers = Counter((variant, *result) for variant, result in (ask("numbers", {"x": [1]}) for _ in range(100)))
    assert answers.keys() == {("old", 2.0), ("new", 101.0)}
    assert answers["old", 2.0] > answers["new", 101.0]
    for variant, value in (("new", 101), ("old", 2)):
        assert ask("numbers", {"x": [1]}, TargetVariant=variant) == (variant, [value])
    for variant, value in (("new", 101.0), ("old", 2.0)):
        assert invocations(local, variant) - counts[variant] == answers[variant, value] + 1


def invocations(local: LocalEndpoint, variant: str) -> float:
    counters = [sample for sample in samples(local, NAME) if sample.name == "sagemaker_Invocations_total"]
    counted = [sample for sample in counters if not sample.labels.get("target_model")]
    return sum(sample.value for sample in counted if sample.labels["variant"] == variant)


def test_a_refusal_tells_boto3_what_there_is(ask: Ask, runtime: Any) -> None:
    with pytest.raises(runtime.exceptions.ModelError) as caught:
        ask("nobody", {})
    assert caught.value.response["OriginalStatusCode"] == 404
    message = "there is no model 'nobody'; there are numbers, words, size, waits"
    assert caught.value.response["OriginalMessage"] == message
    raw = {"ContentType": "image/jpeg", "CustomAttributes": "modelname=size"}
    assert json.load(runtime.invoke_endpoint(EndpointName=NAME, Body=b"1234", **raw)["Body"])["result"] == [[4]]


@pytest.mark.parametrize("killed", ["tritonserver", "gateway"])
def test_a_container_that_is_killed_is_replaced_and_only_what_was_under_way_fails(
    killed: str, ask: Ask, local: LocalEndpoint, runtime: Any, log_of: Callable[[str], Path], tmp_path: Path
) -> None:
    first = container(local, "old")
    left = [first, *descendants(first)]
    gate, errors = tmp_path / "gate", []
    before = failures(local)

    def wait() -> None:
        try:
            ask("waits", {"path": str(gate)}, TargetVariant="old")
        except runtime.exceptions.ClientError as error:
            errors.append(error.response["Error"])

    slow = threading.Thread(target=wait)
    slow.start()
    wait_until(gate.with_name("gate.reached").exists)
    os.kill(children(first)[0] if killed == "tritonserver" else first, signal.SIGKILL)
    slow.join()
    assert [each["Code"] for each in errors] == ["InternalFailure"]
    assert "the container ended while it worked on the request" in errors[0]["Message"]
    # These wait for the next container; the other variant's is untouched.
    assert ask("numbers", {"x": [1]}, TargetVariant="old") == ("old", [2])
    assert ask("numbers", {"x": [1]}, TargetVariant="new") == ("new", [101])
    assert failures(local) == before + 1
    assert container(local, "old") != first
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))

    ended = "the gateway's container ended by " + ("exiting" if killed == "tritonserver" else "signal 9")
    with urllib.request.urlopen(local.url) as page:
        assert ended in page.read().decode().replace("&#39;", "'")
    assert killed == "gateway" or "tritonserver ended on its own with signal 9" in log_of(NAME).read_text()


def failures(local: LocalEndpoint) -> float:
    counters = [counter for counter in samples(local, NAME) if counter.name == "sagemaker_Invocation5XXErrors_total"]
    return sum(counter.value for counter in counters if counter.labels["variant"] == "old")


def test_the_log_has_what_the_models_print(ask: Ask, log_of: Callable[[str], Path]) -> None:
    ask("words", {"text": "logged", "img": "AAAA"}, TargetVariant="old")
    wait_until(lambda: "1 words" in log_of(NAME).read_text())
