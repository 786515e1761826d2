"""Deployment: created once, updated where it differs, and deleted again after a failure halfway.

moto's endpoints are in service at once, so ``Platform`` puts other states in front of it."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.conftest import DESIRED, ROLE
from triton_ensembles.deploy import sagemaker_endpoint
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.desired_endpoint import DesiredEndpoint
from triton_ensembles.deploy.removal import undeploy_endpoint
from triton_ensembles.ground.errors import EnsembleError


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sagemaker_endpoint, "FIRST_PAUSE", 0.001)


def parts(aws: Aws) -> tuple[list[str], list[str], list[str]]:
    """The names of all endpoints, configurations and models."""
    client = aws.sagemaker
    return (
        [each["EndpointName"] for each in client.list_endpoints()["Endpoints"]],
        [each["EndpointConfigName"] for each in client.list_endpoint_configs()["EndpointConfigs"]],
        [each["ModelName"] for each in client.list_models()["Models"]],
    )


def deploy(aws: Aws, desired: DesiredEndpoint = DESIRED) -> str:
    return deploy_endpoint(aws, desired, print, 60)


def undeploy(aws: Aws) -> int:
    return undeploy_endpoint(aws, "an-endpoint", None, print, 60)


class Platform:
    """Gives moto's endpoint other states: each DescribeEndpoint takes the next one, the last one stays."""

    def __init__(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: list[dict[str, Any]] = []
        self.config = ""
        self.interrupted = False
        self._create = aws.sagemaker.create_endpoint
        self._describe = aws.sagemaker.describe_endpoint
        self._delete = aws.sagemaker.delete_endpoint
        monkeypatch.setattr(aws.sagemaker, "create_endpoint", self.create)
        monkeypatch.setattr(aws.sagemaker, "describe_endpoint", self.describe)
        monkeypatch.setattr(aws.sagemaker, "update_endpoint", self.update)
        monkeypatch.setattr(aws.sagemaker, "delete_endpoint", self.delete)

    def create(self, **request: Any) -> None:
        self._create(**request)
        if self.interrupted:
            raise KeyboardInterrupt

    def describe(self, EndpointName: str) -> dict[str, Any]:  # noqa: N803
        found: dict[str, Any] = self._describe(EndpointName=EndpointName)
        state = (self.states.pop(0) if len(self.states) > 1 else self.states[0]) if self.states else {}
        return found | ({"EndpointConfigName": self.config} if self.config else {}) | state

    def update(self, EndpointName: str, EndpointConfigName: str, **more: Any) -> None:  # noqa: N803
        self.config = EndpointConfigName
        self.more = more

    def delete(self, EndpointName: str) -> Any:  # noqa: N803
        if self.states and self.states[0].get("EndpointStatus") in ("Creating", "Updating"):
            self.states = [{"EndpointStatus": "InService"}]
            words = {"Code": "ValidationException", "Message": 'Cannot update in-progress endpoint "arn:…".'}
            raise ClientError({"Error": words}, "DeleteEndpoint")
        self.states = []
        return self._delete(EndpointName=EndpointName)


@pytest.fixture
def platform(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Platform:
    return Platform(aws, monkeypatch)


def test_an_update_replaces_model_and_configuration_and_leaves_scaling_alone(aws: Aws, platform: Platform) -> None:
    """Otherwise old configurations would pile up (deleting one too early breaks the update), or an update would undo
    the scaling in the middle of a load."""
    deploy(aws)
    platform.config = DESIRED.config_name
    larger = replace(DESIRED, instance="ml.g4dn.2xlarge", environment={"SAGEMAKER_TRITON_LOG_VERBOSE": "false"})
    assert deploy(aws, larger) == "updated"
    assert platform.config == larger.config_name
    assert platform.more == {}
    assert parts(aws) == (["an-endpoint"], [larger.config_name], [larger.model_name])
    arn = aws.sagemaker.describe_endpoint(EndpointName="an-endpoint")["EndpointArn"]
    tag = {"Key": "triton-ensembles:autoscaled", "Value": "AllTraffic"}
    aws.sagemaker.add_tags(ResourceArn=arn, Tags=[tag])
    deploy(aws, replace(larger, count=2))
    assert platform.more == {"RetainAllVariantProperties": True}


@pytest.mark.parametrize("step", ["create_model", "create_endpoint_config", "create_endpoint"])
def test_a_refusal_halfway_leaves_nothing(aws: Aws, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The error has AWS's reason and says what to do."""

    def refuse(**_: Any) -> None:
        words = {"Code": "ResourceLimitExceeded", "Message": "The account-level service limit is 0 Instances."}
        raise ClientError({"Error": words}, step)

    monkeypatch.setattr(aws.sagemaker, step, refuse)
    with pytest.raises(EnsembleError, match="service limit is 0 Instances; request a higher quota"):
        deploy(aws)
    assert parts(aws) == ([], [], [])


def test_ctrl_c_while_it_is_created_waits_and_deletes_it(
    aws: Aws, platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    """SageMaker refuses to delete what is being created; giving up would leave it running and costing money."""
    platform.states = [{"EndpointStatus": "Creating"}] * 3 + [{"EndpointStatus": "InService"}]
    platform.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        deploy(aws)
    assert "rolling back: deleting the endpoint an-endpoint" in capsys.readouterr().out
    assert parts(aws) == ([], [], [])


def test_a_failed_endpoint_is_recreated(aws: Aws, platform: Platform) -> None:
    """SageMaker cannot update it."""
    deploy(aws)
    platform.states = [{"EndpointStatus": "Failed"}]
    assert deploy(aws) == "created"


def test_an_endpoint_of_another_tool_is_left_alone(aws: Aws) -> None:
    """Neither deploy nor undeploy changes it."""
    aws.sagemaker.create_model(ModelName="theirs", ExecutionRoleArn=ROLE, PrimaryContainer={"Image": "their/image:1"})
    variant = {"VariantName": "v", "ModelName": "theirs", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    aws.sagemaker.create_endpoint_config(EndpointConfigName="theirs", ProductionVariants=[variant])
    aws.sagemaker.create_endpoint(EndpointName="an-endpoint", EndpointConfigName="theirs")
    with pytest.raises(EnsembleError, match="was not created by this tool"):
        deploy(aws)
    with pytest.raises(EnsembleError, match="was not created by this tool"):
        undeploy(aws)
    assert parts(aws) == (["an-endpoint"], ["theirs"], ["theirs"])


def test_undeploy_deletes_what_killed_runs_left(aws: Aws) -> None:
    """Models with similar names that belong to something else are kept."""
    deploy(aws)
    left = replace(DESIRED, image="some/image:2")  # as a run that was killed would leave it
    for name in (left.model_name, "an-endpoint-of-mine"):
        tags = [{"Key": "made-by", "Value": "triton-ensembles"}]
        aws.sagemaker.create_model(**(left.model | {"ModelName": name}), Tags=tags)
    assert undeploy(aws) == 4
    assert parts(aws) == ([], [], ["an-endpoint-of-mine"])
    assert undeploy(aws) == 0


def test_one_failing_step_of_undeploy_does_not_stop_the_others(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what still exists."""
    deploy(aws)

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DeleteEndpoint")

    monkeypatch.setattr(aws.sagemaker, "delete_endpoint", refuse)
    with pytest.raises(EnsembleError, match="could not delete all of an-endpoint: endpoint"):
        undeploy(aws)
    assert parts(aws) == (["an-endpoint"], [], [])
