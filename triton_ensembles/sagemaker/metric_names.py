"""The metrics of a SageMaker endpoint, named as on AWS's page "Monitor Amazon SageMaker AI with Amazon CloudWatch"."""

from dataclasses import dataclass

_INVOCATIONS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
LOCAL = ""  # no namespace of CloudWatch: AWS does not measure it


@dataclass(frozen=True)
class CloudWatchMetric:
    """One metric."""

    namespace: str
    unit: str
    description: str
    counts: bool = False  # only its sum is meaningful: a counter for Prometheus
    sampled: bool = False  # it is the present state of an instance: a gauge

    @property
    def of_instance(self) -> bool:
        """Whether the metric describes the present state of an instance."""
        return self.sampled or self.namespace in (INSTANCES, LOCAL)


METRICS = {
    "Invocations": CloudWatchMetric(_INVOCATIONS, "Count", "InvokeEndpoint requests sent to the endpoint", counts=True),
    "InvocationsPerInstance": CloudWatchMetric(
        _INVOCATIONS, "Count", "Invocations, divided by the variant's instances", counts=True
    ),
    "Invocation4XXErrors": CloudWatchMetric(
        _INVOCATIONS, "Count", "requests that the container answered with 4xx", counts=True
    ),
    "Invocation5XXErrors": CloudWatchMetric(
        _INVOCATIONS, "Count", "requests that the container answered with 5xx, or not at all", counts=True
    ),
    "ConcurrentRequestsPerModel": CloudWatchMetric(
        _INVOCATIONS, "Count", "requests that an instance is working on or has queued", sampled=True
    ),
    "ModelLatency": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time the container took to answer"),
    "OverheadLatency": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time from request to answer, less ModelLatency"),
    "ModelLoadingWaitTime": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time a request waited for its model"),
    "ModelDownloadingTime": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time to download a model from S3"),
    "ModelLoadingTime": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time of the container's load call"),
    "ModelUnloadingTime": CloudWatchMetric(_INVOCATIONS, "Microseconds", "time of the container's unload call"),
    "ModelCacheHit": CloudWatchMetric(
        _INVOCATIONS, "Count", "1 when the model was already loaded, otherwise 0; its average is the hit ratio"
    ),
    "LoadedModelCount": CloudWatchMetric(INSTANCES, "Count", "models loaded in the instance's container"),
    "CPUUtilization": CloudWatchMetric(INSTANCES, "Percent", "of one core; several cores may exceed 100"),
    "MemoryUtilization": CloudWatchMetric(INSTANCES, "Percent", "of the instance's memory budget"),
    "DiskUtilization": CloudWatchMetric(INSTANCES, "Percent", "of the instance's disk budget"),
    "UnpackedEnvironments": CloudWatchMetric(
        LOCAL, "Bytes", "environments that Triton has unpacked into /tmp, as a part of the disk in use"
    ),
}
