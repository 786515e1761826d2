"""What is counted: at /metrics, in CloudWatch's API, and how it is added up."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.endpoint.conftest import Deployer, ask, in_service, refused
from tests.hosting import archives
from tests.processes import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.metrics.record import Metrics, percentiles
from triton_ensembles.hosting.triton_metrics import step_times
from triton_ensembles.sagemaker.metric_names import METRICS


def text_of(local: LocalEndpoint) -> str:
    reply = requests.get(f"{local.url}/metrics", timeout=300)
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return reply.text


def parsed(text: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def samples(local: LocalEndpoint, endpoint: str) -> list[Sample]:
    return [sample for sample in parsed(text_of(local)) if sample.labels.get("endpoint") == endpoint]


def values_of(found: list[Sample], name: str, **labels: str) -> list[float]:
    """Triton's own are missing for a moment where it does not answer in time."""
    return [each.value for each in found if each.name == name and labels.items() <= each.labels.items()]


def one(found: list[Sample], name: str, **labels: str) -> float:
    (value,) = values_of(found, name, **labels)
    return value


def test_archives_with_equal_insides_are_counted_apart(deployer: Deployer, local: LocalEndpoint, runtime: Any) -> None:
    for name in ("left", "right"):
        deployer.put(f"twin/{name}.tar.gz", archives.ensemble("same", f"{name}.step") | archives.model(f"{name}.step"))
    deployer.multi_model("twins")
    for name, times in (("left", 3), ("right", 1)):
        for _ in range(times):
            ask(runtime, "twins", f"twin/{name}.tar.gz", 1)
    found = samples(local, "twins")
    for name, times in (("left", 3), ("right", 1)):
        target = {"target_model": f"twin/{name}.tar.gz", "variant": "AllTraffic"}
        assert one(found, "sagemaker_Invocations_total", **target) == times
        assert one(found, "sagemaker_ModelLatency_microseconds_count", **target) == times
        assert one(found, "sagemaker_ModelCacheHit_sum", **target) == times - 1
        assert one(found, "sagemaker_ModelLoadingTime_microseconds_count", **target) == 1
        assert one(found, "sagemaker_ModelDownloadingTime_microseconds_sum", **target) > 0
        step = target | {"model": f"{name}.step", "instance": "0"}
        # Triton counts a request after it has sent the answer.
        success = "nv_inference_request_success_total"
        wait_until(lambda: values_of(samples(local, "twins"), success, **step) == [times])  # noqa: B023
    assert one(found, "sagemaker_LoadedModelCount", instance="0") == 2


def test_errors_of_the_container_are_counted_and_mistyped_models_get_no_series(
    deployer: Deployer, shared: str, local: LocalEndpoint, runtime: Any
) -> None:
    deployer.put("erring.tar.gz", archives.model())
    with suppress(runtime.exceptions.ClientError):
        runtime.invoke_endpoint(EndpointName=shared, TargetModel="erring.tar.gz", Body=b"{")
    with suppress(runtime.exceptions.ClientError):
        ask(runtime, shared, "nobody", 1)
    found = samples(local, shared)
    for name in ("Invocation4XXErrors", "InvocationModelErrors"):
        assert one(found, f"sagemaker_{name}_total", target_model="erring.tar.gz") == 1
    assert not [each for each in found if each.labels.get("target_model") == "nobody" and "Invocations" in each.name]


def test_cloudwatch_has_the_same_numbers(deployer: Deployer, shared: str, local: LocalEndpoint, runtime: Any) -> None:
    deployer.multi_model("watched")
    for _ in range(4):
        ask(runtime, "watched", "one.tar.gz", 1)
    cloudwatch, now = local.client("cloudwatch"), datetime.now(UTC)
    dimensions = [{"Name": "EndpointName", "Value": "watched"}, {"Name": "VariantName", "Value": "AllTraffic"}]
    window = {"StartTime": now - timedelta(hours=1), "EndTime": now + timedelta(minutes=1)}

    def statistic(name: str, statistic: str) -> float:
        metric = {"Namespace": "AWS/SageMaker", "MetricName": name, "Dimensions": dimensions, "Period": 7200}
        (point,) = cloudwatch.get_metric_statistics(**metric, Statistics=[statistic], **window)["Datapoints"]
        return float(point[statistic])

    assert statistic("Invocations", "Sum") == 4
    assert statistic("ModelCacheHit", "Average") == 0.75
    assert (statistic("InvocationModelErrors", "SampleCount"), statistic("InvocationModelErrors", "Sum")) == (4, 0)
    assert statistic("ModelLatency", "Maximum") > 100  # microseconds
    assert statistic("ModelLoadingWaitTime", "SampleCount") == 1
    names = {each["MetricName"] for each in cloudwatch.list_metrics(Dimensions=dimensions)["Metrics"]}
    assert {"OverheadLatency", "ModelDownloadingTime", "LoadedModelCount"} <= names
    # The CPU is measured as the memory is.
    wait_until(lambda: any(each.name == "sagemaker_CPUUtilization_percent" for each in samples(local, "watched")))
    own = {"Namespace": "/aws/sagemaker/Endpoints", "MetricName": "CPUUtilization", "Dimensions": dimensions[:1]}
    assert cloudwatch.list_metrics(**own)["Metrics"]
    every = {each["MetricName"] for each in cloudwatch.list_metrics()["Metrics"]}
    assert "DiskUtilization" in every and "UnpackedEnvironments" not in every  # which AWS does not have


def test_percentiles_expressions_and_odd_periods_are_refused_with_the_cure(local: LocalEndpoint) -> None:
    cloudwatch, now = local.client("cloudwatch"), datetime.now(UTC)
    window = {"StartTime": now - timedelta(hours=1), "EndTime": now}
    metric: dict[str, Any] = {"Namespace": "AWS/SageMaker", "MetricName": "ModelLatency"}
    expression = {"Id": "e", "Expression": "SUM(METRICS())", "Period": 60}
    code, message = refused(cloudwatch.get_metric_data, MetricDataQueries=[expression], **window)
    assert code == "NotSupportedLocally" and "the expression SUM(METRICS())" in message
    for period, kind, statistic, expected, words in (
        (45, "Statistics", "Sum", "ValidationError", "multiple of 60"),
        (90, "Statistics", "Sum", "ValidationError", "multiple of 60"),
        (60, "ExtendedStatistics", "p50", "NotSupportedLocally", "the statistic p50.*ask for Sum"),
    ):
        query = {"Id": "q", "MetricStat": {"Metric": metric, "Period": period, "Stat": statistic}}
        for code, message in (
            refused(cloudwatch.get_metric_statistics, **metric, **window, Period=period, **{kind: [statistic]}),
            refused(cloudwatch.get_metric_data, MetricDataQueries=[query], **window),
        ):
            assert code == expected and re.search(words, message)
    window["StartTime"] -= timedelta(hours=24)
    code, message = refused(cloudwatch.get_metric_statistics, **metric, **window, Period=60, Statistics=["Sum"])
    assert code == "InvalidParameterCombination" and "exceeds the limit of 1440" in message


def test_a_recorded_value_is_in_all_three_places() -> None:
    """/metrics, CloudWatch and the status page would otherwise contradict each other."""
    metrics = Metrics()
    for count in range(1, 2502):
        metrics.record("ModelLatency", float(count), "e", "v", "m")
    found = parsed(metrics.prometheus.text().decode())
    assert one(found, "sagemaker_ModelLatency_microseconds_count", target_model="m") == 2501
    assert one(found, "sagemaker_ModelLatency_microseconds_sum", target_model="m") == 2501 * 2502 / 2
    assert one(found, "sagemaker_ModelLatency_microseconds_bucket", target_model="m", le="1000.0") == 1000
    latest = metrics.latest("e", "v", "m", "ModelLatency")
    assert (len(latest), percentiles(latest)) == (1000, (2.0015, 2.4011, 2.49101))  # milliseconds
    assert percentiles([5000.0]) == (5, 5, 5)
    data = metrics.minutes.take()["AWS/SageMaker"]
    assert sum(datum["StatisticValues"]["SampleCount"] for datum in data) == 2501


def test_an_update_leaves_the_metrics_of_what_still_serves(
    local: LocalEndpoint, deployer: Deployer, shared: str, sagemaker: Any, runtime: Any
) -> None:
    deployer.multi_model("renewed", instances=2)
    loading = 'sagemaker_ModelLoadingTime_microseconds_count{endpoint="renewed",target_model="one.tar.gz"'
    ask(runtime, "renewed", "one.tar.gz", 1)
    wait_until(lambda: 'MemoryUtilization_percent{endpoint="renewed",instance="1"' in text_of(local))
    assert loading in text_of(local)
    deployer.config("smaller", "renewed")
    sagemaker.update_endpoint(EndpointName="renewed", EndpointConfigName="smaller")
    in_service(sagemaker, "renewed")
    left = [line for line in text_of(local).splitlines() if line.startswith("sagemaker_") and '"renewed"' in line]
    assert left and not [line for line in left if "one.tar.gz" in line or 'instance="1"' in line]
    ask(runtime, "renewed", "one.tar.gz", 1)
    assert loading in text_of(local)


def test_a_model_has_few_lines() -> None:
    """prometheus_client takes a hundred milliseconds for every fifteen thousand lines."""
    metrics = Metrics()
    for name in METRICS:
        metrics.record(name, 1000, "e", "v", "m")
    assert sum('target_model="m"' in line for line in metrics.prometheus.text().decode().splitlines()) <= 30


def test_times_of_steps_are_put_together_over_instances() -> None:
    lines = ["# TYPE nv_inference_request_success counter"]
    for instance, count, total, median in ((0, 1, 1000, "2000"), (1, 3, 7000, "NaN")):
        labels = f'endpoint="e",variant="v",instance="{instance}",target_model="t",model="m"'
        lines += [f"nv_inference_request_success{{{labels}}} {count}"]
        lines += [f"nv_inference_request_duration_us{{{labels}}} {total}"]
        lines += [f'nv_inference_request_summary_us{{{labels},quantile="0.5"}} {median}']
    (step,) = step_times("\n".join(lines))["e/v"]
    assert (step.target_model, step.step, step.count, step.average, step.p50, step.p99) == ("t", "m", 4, 2, 2, None)
