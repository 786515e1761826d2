"""deploy: made once, changed where it differs, and gone again after a failure half-way.

moto pretends SageMaker; its endpoints are in service at once, so states and updates are played to it by ``Platform``.
What the real local endpoint does with all this is in test_local_endpoint.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from triton_ensembles.deploy import sagemaker_endpoint
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import Wish, deploy
from triton_ensembles.deploy.sagemaker_endpoint import tags_of
from triton_ensembles.deploy.removal import undeploy
from triton_ensembles.errors import EnsembleError

WISH = Wish(
    "an-endpoint",
    "arn:aws:iam::123456789012:role/some-role",
    "some/image:1",
    "ml.g4dn.xlarge",
    1,
    "s3://some-bucket/an-endpoint/",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted, "_FIRST_PAUSE", 0.001)


def parts(aws: Aws) -> tuple[list[str], list[str], list[str]]:
    """The names of all endpoints, configurations and models."""
    client = aws.sagemaker
    return (
        [each["EndpointName"] for each in client.list_endpoints()["Endpoints"]],
        [each["EndpointConfigName"] for each in client.list_endpoint_configs()["EndpointConfigs"]],
        [each["ModelName"] for each in client.list_models()["Models"]],
    )


class Platform:
    """Plays an endpoint's states in front of moto: each look at it takes the next one, the last one stays."""

    def __init__(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: list[dict[str, Any]] = []
        self.config = ""
        self._describe = aws.sagemaker.describe_endpoint
        self._delete = aws.sagemaker.delete_endpoint
        monkeypatch.setattr(aws.sagemaker, "describe_endpoint", self.describe)
        monkeypatch.setattr(aws.sagemaker, "update_endpoint", self.update)
        monkeypatch.setattr(aws.sagemaker, "delete_endpoint", self.delete)

    def describe(self, EndpointName: str) -> dict[str, Any]:  # noqa: N803
        found: dict[str, Any] = self._describe(EndpointName=EndpointName)
        state = (self.states.pop(0) if len(self.states) > 1 else self.states[0]) if self.states else {}
        return found | ({"EndpointConfigName": self.config} if self.config else {}) | state

    def update(self, EndpointName: str, EndpointConfigName: str, **more: Any) -> None:  # noqa: N803
        self.config = EndpointConfigName
        self.more = more

    def delete(self, EndpointName: str) -> None:  # noqa: N803
        if self.states and self.states[0].get("EndpointStatus") in ("Creating", "Updating"):
            self.states = [{"EndpointStatus": "InService"}]
            words = {"Code": "ValidationException", "Message": 'Cannot update in-progress endpoint "arn:…".'}
            raise ClientError({"Error": words}, "DeleteEndpoint")
        self._delete(EndpointName=EndpointName)


@pytest.fixture
def platform(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Platform:
    return Platform(aws, monkeypatch)


def test_deploying_twice_makes_it_once(aws: Aws, told: list[str]) -> None:
    assert deploy(aws, WISH, told.append, 60) == "created"
    before = parts(aws)
    assert deploy(aws, WISH, told.append, 60) == "unchanged"
    assert parts(aws) == before == (["an-endpoint"], [WISH.config["EndpointConfigName"]], [WISH.model["ModelName"]])
    made = aws.sagemaker.describe_model(ModelName=WISH.model["ModelName"])
    assert made["PrimaryContainer"]["ModelDataUrl"] == "s3://some-bucket/an-endpoint/"
    assert made["PrimaryContainer"]["Mode"] == "MultiModel"


def test_a_change_updates_and_leaves_no_old_parts(aws: Aws, platform: Platform, told: list[str]) -> None:
    """Old configurations would otherwise pile up, and deleting one too early breaks the update."""
    deploy(aws, WISH, told.append, 60)
    platform.config = WISH.config["EndpointConfigName"]
    larger = replace(WISH, instance="ml.g4dn.2xlarge", environment={"SAGEMAKER_TRITON_LOG_VERBOSE": "false"})
    assert deploy(aws, larger, told.append, 60) == "updated"
    assert platform.config == larger.config["EndpointConfigName"]
    assert platform.more == {}
    assert parts(aws) == (["an-endpoint"], [larger.config["EndpointConfigName"]], [larger.model["ModelName"]])


def test_an_update_leaves_the_number_of_instances_to_auto_scaling(
    aws: Aws, platform: Platform, told: list[str]
) -> None:
    deploy(aws, WISH, told.append, 60)
    platform.config = WISH.config["EndpointConfigName"]
    arn = aws.sagemaker.describe_endpoint(EndpointName="an-endpoint")["EndpointArn"]
    tag = {"Key": "triton-ensembles:autoscaled", "Value": "AllTraffic"}
    aws.sagemaker.add_tags(ResourceArn=arn, Tags=[tag])
    deploy(aws, replace(WISH, count=2), told.append, 60)
    assert platform.more == {"RetainAllVariantProperties": True}


def test_a_failure_says_the_reason_and_leaves_nothing(aws: Aws, platform: Platform, told: list[str]) -> None:
    """A user would otherwise go on paying for a broken endpoint."""
    create, failed = aws.sagemaker.create_endpoint, {"EndpointStatus": "Failed", "FailureReason": "the ping failed"}

    def create_failing(**request: Any) -> None:
        create(**request)
        platform.states = [{"EndpointStatus": "Creating"}, {"EndpointStatus": "Creating"}, failed]

    aws.sagemaker.create_endpoint = create_failing
    with pytest.raises(EnsembleError, match="did not get into service: the ping failed"):
        deploy(aws, WISH, told.append, 60)
    assert parts(aws) == ([], [], [])


@pytest.mark.parametrize("step", ["create_model", "create_endpoint_config", "create_endpoint"])
def test_a_refusal_half_way_leaves_nothing(
    aws: Aws, told: list[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(**_: Any) -> None:
        words = {"Code": "ResourceLimitExceeded", "Message": "The account-level service limit is 0 Instances."}
        raise ClientError({"Error": words}, step)

    monkeypatch.setattr(aws.sagemaker, step, refuse)
    with pytest.raises(EnsembleError, match="service limit is 0 Instances; ask for a higher quota"):
        deploy(aws, WISH, told.append, 60)
    assert parts(aws) == ([], [], [])


def test_ctrl_c_while_it_is_created_waits_and_deletes_it(aws: Aws, platform: Platform, told: list[str]) -> None:
    """SageMaker refuses to delete what is being created; giving up there would leave it running, and costing."""
    create = aws.sagemaker.create_endpoint

    def create_and_interrupt(**request: Any) -> None:
        create(**request)
        platform.states = [{"EndpointStatus": "Creating"}] * 3 + [{"EndpointStatus": "InService"}]
        raise KeyboardInterrupt

    aws.sagemaker.create_endpoint = create_and_interrupt
    with pytest.raises(KeyboardInterrupt):
        deploy(aws, WISH, told.append, 60)
    assert parts(aws) == ([], [], [])


def test_an_update_that_fails_keeps_the_endpoint_and_its_parts(aws: Aws, platform: Platform, told: list[str]) -> None:
    deploy(aws, WISH, told.append, 60)
    before = parts(aws)
    old = WISH.config["EndpointConfigName"]

    def roll_back(**_: Any) -> None:
        platform.states = [
            {"EndpointStatus": "Updating"},
            {"EndpointStatus": "RollingBack"},
            {"EndpointStatus": "InService", "EndpointConfigName": old, "FailureReason": "no capacity"},
        ]

    aws.sagemaker.update_endpoint = roll_back
    with pytest.raises(EnsembleError, match="no capacity"):
        deploy(aws, replace(WISH, instance="ml.p3.2xlarge"), told.append, 60)
    assert parts(aws) == before


def test_a_failed_endpoint_is_made_anew(aws: Aws, platform: Platform, told: list[str]) -> None:
    deploy(aws, WISH, told.append, 60)
    platform.states = [{"EndpointStatus": "Failed"}]
    delete = platform.delete

    def delete_failed(EndpointName: str) -> None:  # noqa: N803
        delete(EndpointName=EndpointName)
        platform.states = []

    aws.sagemaker.delete_endpoint = delete_failed
    assert deploy(aws, WISH, told.append, 60) == "created"


def test_an_endpoint_of_someone_else_is_not_touched(aws: Aws, told: list[str]) -> None:
    aws.sagemaker.create_model(
        ModelName="theirs", ExecutionRoleArn=WISH.role, PrimaryContainer={"Image": "their/image:1"}
    )
    variant = {"VariantName": "v", "ModelName": "theirs", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    aws.sagemaker.create_endpoint_config(EndpointConfigName="theirs", ProductionVariants=[variant])
    aws.sagemaker.create_endpoint(EndpointName="an-endpoint", EndpointConfigName="theirs")
    for command in (lambda: deploy(aws, WISH, told.append, 60), lambda: undeploy(aws, "an-endpoint", None, print, 60)):
        with pytest.raises(EnsembleError, match="that this tool did not make"):
            command()
    assert parts(aws) == (["an-endpoint"], ["theirs"], ["theirs"])


def test_undeploy_removes_all_parts_even_those_of_broken_runs(aws: Aws, told: list[str]) -> None:
    deploy(aws, WISH, told.append, 60)
    left = replace(WISH, image="some/image:2")  # as a run that was killed would leave it
    aws.sagemaker.create_model(**left.model, Tags=[{"Key": "made-by", "Value": "triton-ensembles"}])
    aws.sagemaker.create_model(
        **(left.model | {"ModelName": "an-endpoint-of-mine"}), Tags=[{"Key": "made-by", "Value": "triton-ensembles"}]
    )
    assert undeploy(aws, "an-endpoint", None, told.append, 60) == 4
    assert parts(aws) == ([], [], ["an-endpoint-of-mine"])
    assert undeploy(aws, "an-endpoint", None, told.append, 60) == 0


def test_one_step_of_undeploy_that_fails_does_not_stop_the_others(
    aws: Aws, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(aws, WISH, told.append, 60)

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DeleteEndpoint")

    monkeypatch.setattr(aws.sagemaker, "delete_endpoint", refuse)
    with pytest.raises(EnsembleError, match="this could not be removed: endpoint"):
        undeploy(aws, "an-endpoint", None, told.append, 60)
    assert parts(aws) == (["an-endpoint"], [], [])


def test_the_endpoint_says_what_its_weights_are(aws: Aws, told: list[str]) -> None:
    """Also when only the archives have changed, of which SageMaker's configuration knows nothing."""
    deploy(aws, replace(WISH, weights="pretrained"), told.append, 60)
    assert deploy(aws, replace(WISH, weights="random"), told.append, 60) == "unchanged"
    arn = aws.sagemaker.describe_endpoint(EndpointName="an-endpoint")["EndpointArn"]
    assert tags_of(aws, arn) == {"made-by": "triton-ensembles", "triton-ensembles:weights": "random"}
