"""AWS's four hosting modes of Triton as its guide calls them by boto3, and the container's variables in each."""

from __future__ import annotations

import html
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from tests.endpoint.conftest import BUCKET, Deployer, ask, refused
from tests.endpoint.hosting.archives import ensemble, model
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.metrics.minutes import MinuteStatistics
from triton_ensembles.endpoint.metrics.publishing import TritonPublisher
from triton_ensembles.endpoint.metrics.triton import TritonMetrics

ACCOUNT = "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver"
PIPE = ensemble("pipe", "a", "b") | model("a", execute="x = x + 1") | model("b", execute="x = x * 2")
DOUBLE = model("double", execute="x = x * 2")
NAMED = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"


@pytest.mark.parametrize(
    ("name", "files", "environment", "answer"),
    [
        ("single", DOUBLE, {}, [2, 6]),
        ("single-named", DOUBLE, {NAMED: "double"}, [2, 6]),
        ("single-with-ensemble", PIPE, {NAMED: "pipe"}, [4, 8]),
    ],
)
def test_single_model_endpoints(
    deployer: Deployer,
    runtime: Any,
    name: str,
    files: dict[str, bytes],
    environment: dict[str, str],
    answer: list[float],
) -> None:
    deployer.single_model(name, files, Environment=environment)
    assert ask(runtime, name, None, 1, 3) == answer


def test_multi_model_endpoints_with_and_without_ensembles(deployer: Deployer, runtime: Any) -> None:
    """The default model of AWS's notebook has no effect: TargetModel chooses."""
    deployer.put("modes/double.tar.gz", DOUBLE)
    deployer.put("modes/pipe.tar.gz", PIPE)
    deployer.multi_model("modes", f"s3://{BUCKET}/modes/", Environment={NAMED: "ensemble_dali_inception"})
    assert ask(runtime, "modes", "double.tar.gz", 1, 3) == [2, 6]
    assert ask(runtime, "modes", "pipe.tar.gz", 1, 3) == [4, 8]


def test_variables_that_the_container_ignores_are_warned_of_and_the_endpoint_serves(
    local: LocalEndpoint, deployer: Deployer, runtime: Any
) -> None:
    """As on AWS, where nothing says so."""
    environment = {
        NAMED: "pipe",
        "SAGEMAKER_TRITON_LOG_VERBOS": "1",
        "SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--no-such-flag",
        "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": "0.5",
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_PROGRAM": "inference.py",
    }
    deployer.single_model("single-old", PIPE, Environment=environment, Image=f"{ACCOUNT}:22.12-py3")
    assert ask(runtime, "single-old", None, 1, 3) == [4, 8]
    page = html.unescape(requests.get(local.url, timeout=60).text)
    assert "reads no variable SAGEMAKER_TRITON_LOG_VERBOS" in page
    assert "did you mean SAGEMAKER_TRITON_LOG_VERBOSE?" in page
    assert "SAGEMAKER_TRITON_ADDITIONAL_ARGS has no effect in release 22.12" in page
    assert "MODEL_LOAD_GPU_LIMIT has no effect here: there is no GPU whose memory it could limit" in page
    assert "Triton's metrics are not published: that needs" in page
    assert "SAGEMAKER_PROGRAM" not in page


def test_counters_are_differences_and_what_is_no_number_or_no_metric_of_triton_is_left_out() -> None:
    """A restarted server begins again at 0; a custom metric would cost money on AWS."""
    minutes = MinuteStatistics()
    publisher = TritonPublisher(TritonMetrics(None), lambda: iter(()), minutes)  # type: ignore[arg-type]
    labels = 'endpoint="e",variant="v",instance="0",target_model="m",model="a",version="1"'
    for count in (5, 7, 2):
        text = f"# TYPE nv_count counter\nnv_count{{{labels}}} {count}\n# TYPE own gauge\nown{{{labels}}} 1\n"
        publisher.record(f"{text}# TYPE nv_gauge gauge\nnv_gauge{{{labels}}} NaN\n", {("e", "v"): "Mine"})
    data = [datum for namespace, data in minutes.take().items() for datum in data if namespace == "Mine"]
    assert {datum["MetricName"] for datum in data} == {"nv_count"}
    assert sum(datum["StatisticValues"]["Sum"] for datum in data) == 5 + 2 + 2


def test_another_inference_type_is_refused_by_name(deployer: Deployer) -> None:
    types = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate_stream"}
    code, message = refused(lambda: deployer.model("stream", Environment=types, Image=f"{ACCOUNT}:25.09-py3"))
    assert (code, "the local endpoint has infer alone" in message) == ("NotSupportedLocally", True)


def test_finer_metrics_are_kept_and_said_to_have_no_effect(
    local: LocalEndpoint, deployer: Deployer, runtime: Any, sagemaker: Any
) -> None:
    own = {"MetricsEndpoints": [{"MetricsEndpointPath": "/metrics"}]}
    finer = {"EnableDetailedObservability": True, "MetricPublishFrequencyInSeconds": 60}
    deployer.put("finer.tar.gz", DOUBLE)
    deployer.model("finer", f"s3://{BUCKET}/finer.tar.gz", "SingleModel", ContainerMetricsConfig=own)
    variant = {"VariantName": "v", "ModelName": "finer", "InstanceType": "ml.m5.xlarge", "InitialInstanceCount": 1}
    sagemaker.create_endpoint_config(EndpointConfigName="finer", ProductionVariants=[variant], MetricsConfig=finer)
    assert sagemaker.describe_model(ModelName="finer")["PrimaryContainer"]["ContainerMetricsConfig"] == own
    assert sagemaker.describe_endpoint_config(EndpointConfigName="finer")["MetricsConfig"] == finer
    deployer.endpoint("finer", "finer")
    assert ask(runtime, "finer", None, 2) == [4]
    page = requests.get(local.url, timeout=60).text
    assert "MetricsConfig is kept and has no effect here" in page
    own["MetricsEndpoints"][0]["MetricsEndpointPath"] = "no slash"
    assert "metricsEndpointPath" in refused(lambda: deployer.model("wrong", ContainerMetricsConfig=own))[1]


def test_tritons_metrics_come_into_the_namespace_that_the_variables_name(
    local: LocalEndpoint, deployer: Deployer, runtime: Any
) -> None:
    """Counters by the minute, with the models of an ensemble apart, and nothing of other endpoints."""
    published = {
        NAMED: "pipe",
        "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_TRITON_METRIC_NAMESPACE": "Mine/Triton",
    }
    deployer.single_model("published", PIPE, Environment=published)
    deployer.single_model("private", DOUBLE)
    for _ in range(3):
        ask(runtime, "published", None, 1)
        ask(runtime, "private", None, 1)
    cloudwatch = local.client("cloudwatch")
    until = time.monotonic() + 90
    while not (listed := cloudwatch.list_metrics(Namespace="Mine/Triton")["Metrics"]):
        assert time.monotonic() < until, "nothing was published within a minute"
        time.sleep(1)
    dimensions = [{d["Name"]: d["Value"] for d in metric["Dimensions"]} for metric in listed]
    assert {d["EndpointName"] for d in dimensions} == {"published"}
    assert {d.get("model") for d in dimensions} >= {"pipe", "a", "b"}
    assert all(metric["MetricName"].startswith("nv_") for metric in listed)
    (found,) = [
        metric
        for metric, its in zip(listed, dimensions, strict=True)
        if metric["MetricName"] == "nv_inference_request_success" and its.get("model") == "a"
    ]
    now = datetime.now(UTC)
    window = {"StartTime": now - timedelta(minutes=5), "EndTime": now + timedelta(minutes=1)}
    query = {"Namespace": "Mine/Triton", "MetricName": found["MetricName"], "Dimensions": found["Dimensions"]}
    points = cloudwatch.get_metric_statistics(**query, **window, Period=60, Statistics=["Sum"])["Datapoints"]
    assert sum(point["Sum"] for point in points) == 3
    stat = {"Metric": query, "Period": 60, "Stat": "Sum"}
    (result,) = cloudwatch.get_metric_data(MetricDataQueries=[{"Id": "a", "MetricStat": stat}], **window)[
        "MetricDataResults"
    ]
    assert sum(result["Values"]) == 3
