"""Whether the execution role may publish Triton's metrics, as IAM's policy simulator says."""

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.deploy.aws import Aws, error_message

_METRICS = ("cloudwatch:PutMetricData",)
_LOGS = ("logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
_NEEDED = f"for --metrics the role needs {', '.join((*_METRICS, *_LOGS))} (AmazonSageMakerFullAccess has them)"


def metrics_permissions(aws: Aws, role: str, namespace: str, log_group: str) -> str:
    """A sentence on what the role lacks of what the CloudWatch agent in the container does; the caller needs
    iam:SimulatePrincipalPolicy for it. A policy may be for a namespace, or for log groups by their names.

    Args:
        role: its ARN.
        namespace: of the metrics.
        log_group: in which the agent writes them.
    """
    _, partition, _, _, account, *_ = f"{role}:::::".split(":")
    group = f"arn:{partition}:logs:{aws.region}:{account}:log-group:{log_group}:log-stream:any"
    values = {"ContextKeyName": "cloudwatch:namespace", "ContextKeyValues": [namespace], "ContextKeyType": "string"}
    questions = (
        {"ActionNames": [*_METRICS], "ContextEntries": [values]},
        {"ActionNames": [*_LOGS], "ResourceArns": [group]},
    )
    try:
        answers = [aws.iam.simulate_principal_policy(PolicySourceArn=role, **question) for question in questions]
    except (ClientError, BotoCoreError) as error:
        reason = error_message(error) if isinstance(error, ClientError) else str(error)
        return f"{_NEEDED}; IAM does not say whether it has them: {' '.join(reason.split())}"
    results = [result for answer in answers for result in answer["EvaluationResults"]]
    lacks = [result["EvalActionName"] for result in results if result["EvalDecision"] != "allowed"]
    if lacks:
        return f"the role lacks {', '.join(lacks)}: without them, no metric is published"
    return "the role has the permissions that --metrics needs"
