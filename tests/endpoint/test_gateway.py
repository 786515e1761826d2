"""The gateway's container on an endpoint, through boto3: two variants, their ends and restarts, and the log."""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.conftest import BUCKET, Deployer, in_service, page
from tests.endpoint.test_metrics import samples
from tests.host.gateway.repository import files
from tests.processes import started_by, wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.processes import descendants

IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/triton-ensembles-gateway:1"
NAME = "by-name"
ONE = {"x": [1]}


@pytest.fixture(scope="module", autouse=True)
def endpoint(local: LocalEndpoint, sagemaker: Any) -> Iterator[None]:
    """Three of four requests are for "old", whose model adds 1; "new" adds 100."""
    newer = files()["numbers/1/model.py"].replace(b"x + 1", b"x + 100")
    deployer = Deployer(local)
    for name, changed in (("old", {}), ("new", {"numbers/1/model.py": newer})):
        deployer.put(f"gateway/{name}.tar.gz", {**files(), **changed})
        deployer.model(name, f"s3://{BUCKET}/gateway/{name}.tar.gz", "SingleModel", Image=IMAGE)
    deployer.config(NAME, "old", "new", weights=(3, 1))
    deployer.endpoint(NAME, NAME)
    yield
    sagemaker.delete_endpoint(EndpointName=NAME)


def ask(runtime: Any, name: str, payload: dict[str, Any], **options: Any) -> tuple[str, Any]:
    """The variant that answered, and the result."""
    body = json.dumps({"modelname": name, "payload": payload})
    answer = runtime.invoke_endpoint(EndpointName=NAME, Body=body, **options)
    return answer["InvokedProductionVariant"], json.load(answer["Body"])["result"]


def container(local: LocalEndpoint, variant: str) -> int:
    """The process that the platform has started for a variant."""
    (pid,) = started_by(local.pid, "triton_ensembles host ", f".{variant}/0/")
    return pid


def test_variants_share_the_requests_and_are_counted_apart(local: LocalEndpoint, sagemaker: Any, runtime: Any) -> None:
    counts = {variant: counted(local, "Invocations", variant) for variant in ("new", "old")}
    answers = Counter((variant, *result) for variant, result in (ask(runtime, "numbers", ONE) for _ in range(100)))
    assert answers.keys() == {("old", 2.0), ("new", 101.0)}
    assert answers["old", 2.0] > answers["new", 101.0]
    for variant, value in (("new", 101.0), ("old", 2.0)):
        assert ask(runtime, "numbers", ONE, TargetVariant=variant) == (variant, [value])
        assert counted(local, "Invocations", variant) - counts[variant] == answers[variant, value] + 1
    shares = [{"VariantName": name, "DesiredWeight": weight} for name, weight in (("new", 1.0), ("old", 0.0))]
    sagemaker.update_endpoint_weights_and_capacities(EndpointName=NAME, DesiredWeightsAndCapacities=shares)
    in_service(sagemaker, NAME)
    assert {ask(runtime, "numbers", ONE)[0] for _ in range(10)} == {"new"}


def counted(local: LocalEndpoint, name: str, variant: str) -> float:
    """A counter of the variant, not of one of its models."""
    counters = [each for each in samples(local, NAME) if each.name == f"sagemaker_{name}_total"]
    return sum(each.value for each in counters if each.labels["variant"] == variant and not each.labels["target_model"])


def test_a_refusal_tells_boto3_what_there_is(runtime: Any) -> None:
    with pytest.raises(runtime.exceptions.ModelError) as caught:
        ask(runtime, "nobody", {})
    assert caught.value.response["OriginalStatusCode"] == 404
    message = "there is no model 'nobody'; there are numbers, words, size, waits"
    assert caught.value.response["OriginalMessage"] == message
    raw = {"ContentType": "image/jpeg", "CustomAttributes": "modelname=size"}
    assert json.load(runtime.invoke_endpoint(EndpointName=NAME, Body=b"1234", **raw)["Body"])["result"] == [[4]]


@pytest.mark.parametrize("killed", ["tritonserver", "gateway"])
def test_what_is_killed_is_started_again_and_only_what_was_under_way_fails(
    killed: str, local: LocalEndpoint, runtime: Any, tmp_path: Path
) -> None:
    first = container(local, "old")
    left = [first, *descendants(first)][killed == "tritonserver" :]
    gate = tmp_path / "gate"
    before = counted(local, "Invocation5XXErrors", "old")
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(ask, runtime, "waits", {"path": str(gate)}, TargetVariant="old")
        wait_until(gate.with_name("gate.reached").exists)
        os.kill(descendants(first)[0] if killed == "tritonserver" else first, signal.SIGKILL)
        code = "ModelError" if killed == "tritonserver" else "InternalFailure"
        with pytest.raises(ClientError, match=rf"{code}.*the container ended while it worked on the request"):
            slow.result()
    # These wait for the next one; the other variant's is untouched.
    assert ask(runtime, "numbers", ONE, TargetVariant="old") == ("old", [2])
    assert ask(runtime, "numbers", ONE, TargetVariant="new") == ("new", [101])
    assert counted(local, "Invocation5XXErrors", "old") == before + 1
    assert (container(local, "old") == first) == (killed == "tritonserver")
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    if killed == "gateway":
        assert "the gateway's container ended by signal 9" in page(local).replace("&#39;", "'")


def test_the_log_has_what_the_models_print(local: LocalEndpoint, runtime: Any) -> None:
    ask(runtime, "words", {"text": "logged", "img": "AAAA"}, TargetVariant="old")
    wait_until(lambda: "1 words" in (local.root / "logs" / f"{NAME}.log").read_text())
