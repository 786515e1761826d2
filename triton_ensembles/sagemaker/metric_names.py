"""The metrics of a SageMaker endpoint, named as on AWS's page "Monitor Amazon SageMaker AI with Amazon CloudWatch"."""

from dataclasses import dataclass
from functools import partial

_INVOCATIONS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
LOCAL = ""  # no namespace of CloudWatch: AWS does not measure it


@dataclass(frozen=True)
class CloudWatchMetric:
    """A metric by its names."""

    namespace: str
    unit: str
    description: str
    counts: bool = False  # only its sum is meaningful: a counter for Prometheus
    sampled: bool = False  # it is the present state of an instance: a gauge

    @property
    def of_instance(self) -> bool:
        """Return whether the metric describes the present state of an instance."""
        return self.sampled or self.namespace in (INSTANCES, LOCAL)


_number = partial(CloudWatchMetric, _INVOCATIONS, "Count")
_time = partial(CloudWatchMetric, _INVOCATIONS, "Microseconds")
_share = partial(CloudWatchMetric, INSTANCES, "Percent")
_IN_TMP = "environments that Triton has unpacked into /tmp, as a part of the disk in use"
METRICS = {
    "Invocations": _number("InvokeEndpoint requests sent to the endpoint", counts=True),
    "InvocationsPerInstance": _number("Invocations, divided by the variant's instances", counts=True),
    "Invocation4XXErrors": _number("requests that the container answered with 4xx", counts=True),
    "Invocation5XXErrors": _number("requests that the container answered with 5xx, or not at all", counts=True),
    "InvocationModelErrors": _number("1 for a request that the container did not answer with 2xx, else 0", counts=True),
    "ConcurrentRequestsPerModel": _number("requests that an instance is working on or has queued", sampled=True),
    "ModelLatency": _time("time the container took to answer"),
    "OverheadLatency": _time("time from request to answer, less ModelLatency"),
    "ModelLoadingWaitTime": _time("time a request waited for its model"),
    "ModelDownloadingTime": _time("time to download a model from S3"),
    "ModelLoadingTime": _time("time of the container's load call"),
    "ModelUnloadingTime": _time("time of the container's unload call"),
    "ModelCacheHit": _number("1 when the model was already loaded, otherwise 0; its average is the hit ratio"),
    "LoadedModelCount": CloudWatchMetric(INSTANCES, "Count", "models loaded in the instance's container"),
    "CPUUtilization": _share("of one core; several cores may exceed 100"),
    "MemoryUtilization": _share("of the instance's memory budget"),
    "DiskUtilization": _share("of the instance's disk budget"),
    "UnpackedEnvironments": CloudWatchMetric(LOCAL, "Bytes", _IN_TMP),
}
