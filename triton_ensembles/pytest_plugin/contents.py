"""Content of a local endpoint, and the removal of what was added to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import WaiterError

from triton_ensembles.endpoint.running import RunningEndpoint

_WAITING = {"Delay": 0.02, "MaxAttempts": 3000}  # seconds; until an endpoint is in service, and until it is gone
_DIMENSION = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


Listed = Mapping[str, frozenset[Any]]
Keys = tuple[tuple[str, str], ...]
"""The arguments of S3's API for an upload in parts, or a version of an object: their names and values."""


class Contents:
    """Everything that can be created in a local endpoint."""

    def __init__(self, endpoint: RunningEndpoint) -> None:
        def client(service: str) -> Any:
            return endpoint.client(service, retries={"mode": "standard", "total_max_attempts": 1})

        self._sagemaker, self._s3 = client("sagemaker"), client("s3")
        self._scaling, self._cloudwatch = client("application-autoscaling"), client("cloudwatch")
        # In the order in which they can be removed.
        self._kinds: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
            # Policies go with their targets.
            "targets": (
                self._targets,
                lambda name: self._scaling.deregister_scalable_target(ResourceId=name, **_DIMENSION),
            ),
            "alarms": (self._alarms, lambda name: self._cloudwatch.delete_alarms(AlarmNames=[name])),
            "endpoints": (lambda: self._names("Endpoint", "list_endpoints"), self._remove_endpoint),
            "configs": (
                lambda: self._names("EndpointConfig", "list_endpoint_configs"),
                lambda name: self._sagemaker.delete_endpoint_config(EndpointConfigName=name),
            ),
            "models": (
                lambda: self._names("Model", "list_models"),
                lambda name: self._sagemaker.delete_model(ModelName=name),
            ),
            "uploads": (self._uploads, lambda keys: self._s3.abort_multipart_upload(**dict(keys))),
            "objects": (self._objects, lambda keys: self._s3.delete_object(**dict(keys))),
            "buckets": (self._buckets, lambda name: self._s3.delete_bucket(Bucket=name)),
        }

    def listed(self) -> Listed:
        """The names of all that there is, by kind."""
        return {kind: frozenset(names()) for kind, (names, _) in self._kinds.items()}

    def remove_others(self, kept: Listed) -> None:
        """Remove all but what is in ``kept``. Raises ClientError or WaiterError of botocore: something stays."""
        for kind, (names, remove) in self._kinds.items():
            for name in sorted(set(names()) - kept[kind]):
                remove(name)

    def _names(self, kind: str, operation: str) -> list[str]:
        return [description[f"{kind}Name"] for description in self._all(self._sagemaker, operation, f"{kind}s")]

    def _remove_endpoint(self, name: str) -> None:
        with suppress(WaiterError):  # one that has failed can also be deleted
            self._sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig=_WAITING)
        self._sagemaker.delete_endpoint(EndpointName=name)
        self._sagemaker.get_waiter("endpoint_deleted").wait(EndpointName=name, WaiterConfig=_WAITING)

    def _targets(self) -> list[str]:
        targets = self._all(self._scaling, "describe_scalable_targets", "ScalableTargets", ServiceNamespace="sagemaker")
        return [target["ResourceId"] for target in targets]

    def _alarms(self) -> list[str]:
        alarms = self._cloudwatch.describe_alarms()
        return [alarm["AlarmName"] for kind in ("MetricAlarms", "CompositeAlarms") for alarm in alarms.get(kind, ())]

    def _buckets(self) -> list[str]:
        return [bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]]

    def _uploads(self) -> list[Keys]:
        return [
            (("Bucket", bucket), ("Key", upload["Key"]), ("UploadId", upload["UploadId"]))
            for bucket in self._buckets()
            for upload in self._all(self._s3, "list_multipart_uploads", "Uploads", Bucket=bucket)
        ]

    def _objects(self) -> list[Keys]:
        return [
            (("Bucket", bucket), ("Key", version["Key"]), ("VersionId", version["VersionId"]))
            for bucket in self._buckets()
            for kind in ("Versions", "DeleteMarkers")
            for version in self._all(self._s3, "list_object_versions", kind, Bucket=bucket)
        ]

    @staticmethod
    def _all(client: Any, operation: str, key: str, **request: str) -> list[Any]:
        pages = client.get_paginator(operation).paginate(**request)
        return [item for page in pages for item in page.get(key, ())]
