"""A rehearsal of the SageMaker endpoint: the application as it is, and the archive that would be uploaded."""

import json

import pytest
from botocore.exceptions import ClientError
from conftest import ENSEMBLE


@pytest.fixture
def endpoint(sagemaker_endpoint, monkeypatch):
    name = sagemaker_endpoint.deploy(ENSEMBLE)
    monkeypatch.setenv("ENDPOINT", name)
    return name


def test_the_application_and_its_operators_get_what_they_rely_on(endpoint, sagemaker_endpoint):
    from router import team_of

    assert team_of("Where is my parcel?") == "delivery"
    runtime = sagemaker_endpoint.client("sagemaker-runtime")
    with pytest.raises(ClientError) as refused:  # 424: the alarm of the operators counts these
        runtime.invoke_endpoint(
            EndpointName=endpoint,
            TargetModel="support_tickets.tar.gz",
            ContentType="application/octet-stream",
            Body=json.dumps({"inputs": []}),
        )
    assert refused.value.response["Error"]["Code"] == "ModelError"
    with pytest.raises(ClientError, match="other.tar.gz"):
        runtime.invoke_endpoint(EndpointName=endpoint, TargetModel="other.tar.gz", Body=b"{}")


def test_nothing_is_left_for_the_next_test(sagemaker_endpoint):
    assert sagemaker_endpoint.client("sagemaker").list_endpoints()["Endpoints"] == []
    assert sagemaker_endpoint.client("s3").list_buckets()["Buckets"] == []
