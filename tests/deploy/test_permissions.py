"""What `deploy --metrics` says of the execution role: which permissions it lacks, or that IAM does not tell."""

from typing import Any

import pytest
from botocore.stub import Stubber

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.permissions import metrics_permissions

ROLE = "arn:aws-cn:iam::123456789012:role/path/some-role"
METRICS = ["cloudwatch:PutMetricData"]
LOGS = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
NAMESPACE = {"ContextKeyName": "cloudwatch:namespace", "ContextKeyValues": ["Mine"], "ContextKeyType": "string"}
GROUP = "arn:aws-cn:logs:eu-central-1:123456789012:log-group:/aws/sagemaker/Endpoints/mine:log-stream:any"


def said(*, denied: tuple[str, ...] = (), error: str = "") -> str:
    aws = Aws()
    questions: list[dict[str, Any]] = [
        {"ActionNames": METRICS, "ContextEntries": [NAMESPACE]},
        {"ActionNames": LOGS, "ResourceArns": [GROUP]},
    ]
    with Stubber(aws.iam) as stub:
        if error:
            stub.add_client_error("simulate_principal_policy", error, "User: me is not authorized to perform it.", 403)
        for question in () if error else questions:
            decided = {name: "implicitDeny" if name in denied else "allowed" for name in question["ActionNames"]}
            results = [{"EvalActionName": name, "EvalDecision": decision} for name, decision in decided.items()]
            answer = {"EvaluationResults": results}
            stub.add_response("simulate_principal_policy", answer, {"PolicySourceArn": ROLE, **question})
        text = metrics_permissions(aws, ROLE, "Mine", "/aws/sagemaker/Endpoints/mine")
        stub.assert_no_pending_responses()
    return text


def test_what_the_role_lacks_is_named_and_nothing_else(credentials: None) -> None:
    """Otherwise the endpoint is in service, and its metrics never come."""
    denied = ("cloudwatch:PutMetricData", "logs:PutLogEvents")
    assert said(denied=denied).startswith("the role lacks cloudwatch:PutMetricData, logs:PutLogEvents: without them")
    assert said() == "the role has the permissions that --metrics needs"


def test_a_caller_who_may_not_ask_reads_what_is_needed_and_why_it_is_not_known(credentials: None) -> None:
    text = said(error="AccessDenied")
    assert all(name in text for name in METRICS + LOGS)
    assert text.endswith("IAM does not say whether it has them: User: me is not authorized to perform it")


@pytest.mark.parametrize("role", ["me", "arn"])
def test_what_is_no_arn_is_not_asked_about(credentials: None, role: str) -> None:
    """SageMaker refuses it a moment later, in its own words."""
    text = metrics_permissions(Aws(), role, "Mine", "/mine")
    assert "the role needs cloudwatch:PutMetricData" in text and "\n" not in text
