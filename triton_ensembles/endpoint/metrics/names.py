"""The metrics of a SageMaker endpoint, named as on AWS's page "Monitor Amazon SageMaker AI with Amazon CloudWatch"."""

from __future__ import annotations

from dataclasses import dataclass

_INVOCATIONS = "AWS/SageMaker"
_INSTANCES = "/aws/sagemaker/Endpoints"


@dataclass(frozen=True)
class Kind:
    """One metric. ``counts``: only its sum means something (Prometheus: a counter)."""

    namespace: str
    unit: str
    about: str
    counts: bool = False


KINDS = {
    "Invocations": Kind(_INVOCATIONS, "Count", "InvokeEndpoint requests sent to the endpoint", counts=True),
    "InvocationsPerInstance": Kind(
        _INVOCATIONS, "Count", "Invocations, divided by the variant's instances", counts=True
    ),
    "Invocation4XXErrors": Kind(_INVOCATIONS, "Count", "requests to which the container answered 4xx", counts=True),
    "Invocation5XXErrors": Kind(_INVOCATIONS, "Count", "requests to which it answered 5xx, or not at all", counts=True),
    "ModelLatency": Kind(_INVOCATIONS, "Microseconds", "time the container took to answer"),
    "OverheadLatency": Kind(_INVOCATIONS, "Microseconds", "time from request to answer, less ModelLatency"),
    "ModelLoadingWaitTime": Kind(_INVOCATIONS, "Microseconds", "time a request waited for its model"),
    "ModelDownloadingTime": Kind(_INVOCATIONS, "Microseconds", "time to download a model from S3"),
    "ModelLoadingTime": Kind(_INVOCATIONS, "Microseconds", "time of the container's load call"),
    "ModelUnloadingTime": Kind(_INVOCATIONS, "Microseconds", "time of the container's unload call"),
    "ModelCacheHit": Kind(
        _INVOCATIONS, "Count", "1 when the model was loaded already, else 0; its average is the ratio"
    ),
    "LoadedModelCount": Kind(_INSTANCES, "Count", "models loaded in the instance's container"),
    "MemoryUtilization": Kind(_INSTANCES, "Percent", "of the instance's memory budget"),
    "DiskUtilization": Kind(_INSTANCES, "Percent", "of the instance's disk budget"),
}
