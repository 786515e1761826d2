"""Deployment: created once, and deleted again after a failure halfway, with moto's endpoints: in service at once.

What takes time is with the local endpoint: an update in test_single_model.py, Ctrl-C in test_local_endpoint.py."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sagemaker.models import sagemaker_backends

from tests.deploy.conftest import DESIRED, ROLE
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.removal import undeploy_endpoint
from triton_ensembles.ground.errors import EnsembleError


def parts(aws: Aws) -> tuple[list[str], list[str], list[str]]:
    """The names of all endpoints, configurations and models."""
    client = aws.sagemaker
    return (
        [each["EndpointName"] for each in client.list_endpoints()["Endpoints"]],
        [each["EndpointConfigName"] for each in client.list_endpoint_configs()["EndpointConfigs"]],
        [each["ModelName"] for each in client.list_models()["Models"]],
    )


def deploy(aws: Aws) -> str:
    return deploy_endpoint(aws, DESIRED, print, 60)


def undeploy(aws: Aws) -> int:
    return undeploy_endpoint(aws, "an-endpoint", None, print, 60)


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


def test_a_failed_endpoint_is_recreated(aws: Aws) -> None:
    """SageMaker cannot update it."""
    deploy(aws)
    sagemaker_backends[DEFAULT_ACCOUNT_ID][aws.region].endpoints["an-endpoint"].endpoint_status = "Failed"
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
