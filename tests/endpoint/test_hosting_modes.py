"""What AWS's guides set for a container that has no effect on this machine."""

import html
from typing import Any

from tests.endpoint.conftest import BUCKET, Deployer, ask, page
from tests.hosting.archives import ensemble, model
from triton_ensembles.endpoint.local import LocalEndpoint

OLD = "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:22.12-py3"
PIPE = ensemble("pipe", "a", "b") | model("a", execute="x = x + 1") | model("b", execute="x = x * 2")


def test_variables_without_an_effect_are_warned_of(local: LocalEndpoint, deployer: Deployer, runtime: Any) -> None:
    """As on AWS, where nothing says so."""
    environment = {
        "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "pipe",
        "SAGEMAKER_TRITON_LOG_VERBOS": "1",
        "SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--no-such-flag",
        "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": "0.5",
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_TRITON_METRICS_PORT": "many",
        "SAGEMAKER_PROGRAM": "inference.py",
    }
    deployer.single_model("single-old", PIPE, Environment=environment, Image=OLD)
    assert ask(runtime, "single-old", None, 1, 3) == [4, 8]
    shown = html.unescape(page(local))
    assert "reads no variable SAGEMAKER_TRITON_LOG_VERBOS" in shown
    assert "did you mean SAGEMAKER_TRITON_LOG_VERBOSE?" in shown
    assert "SAGEMAKER_TRITON_ADDITIONAL_ARGS has no effect in release 22.12" in shown
    assert "MODEL_LOAD_GPU_LIMIT has no effect here: there is no GPU whose memory it could limit" in shown
    assert "PUBLISH_METRICS_TO_CLOUDWATCH has no effect here" in shown
    assert "METRICS_PORT has no effect here: the endpoint's own port has Triton's metrics under /metrics" in shown
    assert "SAGEMAKER_PROGRAM" not in shown


def test_finer_metrics_are_kept_without_an_effect(local: LocalEndpoint, deployer: Deployer, runtime: Any) -> None:
    own = {"MetricsEndpoints": [{"MetricsEndpointPath": "/metrics"}]}
    finer = {"EnableDetailedObservability": True, "MetricPublishFrequencyInSeconds": 60}
    deployer.put("finer.tar.gz", model())
    deployer.model("finer", f"s3://{BUCKET}/finer.tar.gz", "SingleModel", ContainerMetricsConfig=own)
    variant = {"VariantName": "v", "ModelName": "finer", "InstanceType": "ml.m5.xlarge", "InitialInstanceCount": 1}
    sagemaker = deployer.sagemaker
    sagemaker.create_endpoint_config(EndpointConfigName="finer", ProductionVariants=[variant], MetricsConfig=finer)
    assert sagemaker.describe_model(ModelName="finer")["PrimaryContainer"]["ContainerMetricsConfig"] == own
    assert sagemaker.describe_endpoint_config(EndpointConfigName="finer")["MetricsConfig"] == finer
