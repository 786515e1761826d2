"""Content of a local endpoint, and the removal of what was added to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from triton_ensembles.endpoint.running import RunningEndpoint
from triton_ensembles.ground.errors import EnsembleError

_SETTLED = ("InService", "Failed")
_WAIT_SECONDS = 60.0  # until an endpoint has settled, and until it is gone
_PAUSE = 0.02
_DIMENSION = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


class Stored(NamedTuple):
    """An object in S3, or one version of it."""

    bucket: str
    key: str
    version: str


class Upload(NamedTuple):
    """An upload in parts that is not complete."""

    bucket: str
    key: str
    id: str


Listed = Mapping[str, frozenset[Any]]


class Contents:
    """Everything that can be created in a local endpoint."""

    def __init__(self, endpoint: RunningEndpoint) -> None:
        def client(service: str) -> Any:
            return endpoint.client(service, retries={"mode": "standard", "total_max_attempts": 1})

        self._sagemaker, self._s3 = client("sagemaker"), client("s3")
        self._scaling, self._cloudwatch = client("application-autoscaling"), client("cloudwatch")
        # In the order in which they can be removed.
        self._kinds: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
            "targets": (self._targets, self._remove_target),
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
            "uploads": (self._uploads, self._abort),
            "objects": (self._objects, self._remove_object),
            "buckets": (self._buckets, lambda name: self._s3.delete_bucket(Bucket=name)),
        }

    def listed(self) -> Listed:
        """The names of all that there is, by kind."""
        return {kind: frozenset(names()) for kind, (names, _) in self._kinds.items()}

    def remove_others(self, kept: Listed) -> None:
        """Remove all but what is in ``kept``.

        Raises:
            EnsembleError: an endpoint neither gets into service nor fails, or is not deleted.
            ClientError: something cannot be removed.
        """
        for kind, (names, remove) in self._kinds.items():
            for name in sorted(set(names()) - kept[kind]):
                remove(name)

    def _names(self, kind: str, operation: str) -> list[str]:
        return [description[f"{kind}Name"] for description in self._all(self._sagemaker, operation, f"{kind}s")]

    def _remove_endpoint(self, name: str) -> None:
        self._wait(name, lambda status: status in _SETTLED)
        self._sagemaker.delete_endpoint(EndpointName=name)
        self._wait(name, lambda status: not status)

    def _wait(self, name: str, reached: Callable[[str], bool]) -> None:
        limit = time.monotonic() + _WAIT_SECONDS
        while not reached(status := self._status(name)):
            if time.monotonic() > limit:
                raise EnsembleError(f"the endpoint {name} is still {status} after {_WAIT_SECONDS:.0f} s")
            time.sleep(_PAUSE)

    def _status(self, name: str) -> str:
        """ "" for an endpoint that there is not."""
        try:
            return str(self._sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])
        except ClientError as error:
            if "Could not find" in str(error):
                return ""
            raise

    def _targets(self) -> list[str]:
        targets = self._all(self._scaling, "describe_scalable_targets", "ScalableTargets", ServiceNamespace="sagemaker")
        return [target["ResourceId"] for target in targets]

    def _remove_target(self, resource: str) -> None:
        self._scaling.deregister_scalable_target(ResourceId=resource, **_DIMENSION)  # its policies go with it

    def _alarms(self) -> list[str]:
        alarms = self._cloudwatch.describe_alarms()
        return [alarm["AlarmName"] for kind in ("MetricAlarms", "CompositeAlarms") for alarm in alarms.get(kind, ())]

    def _buckets(self) -> list[str]:
        return [bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]]

    def _uploads(self) -> list[Upload]:
        return [
            Upload(bucket, upload["Key"], upload["UploadId"])
            for bucket in self._buckets()
            for upload in self._all(self._s3, "list_multipart_uploads", "Uploads", Bucket=bucket)
        ]

    def _abort(self, upload: Upload) -> None:
        self._s3.abort_multipart_upload(Bucket=upload.bucket, Key=upload.key, UploadId=upload.id)

    def _objects(self) -> list[Stored]:
        return [
            Stored(bucket, version["Key"], version["VersionId"])
            for bucket in self._buckets()
            for kind in ("Versions", "DeleteMarkers")
            for version in self._all(self._s3, "list_object_versions", kind, Bucket=bucket)
        ]

    def _remove_object(self, stored: Stored) -> None:
        self._s3.delete_object(Bucket=stored.bucket, Key=stored.key, VersionId=stored.version)

    @staticmethod
    def _all(client: Any, operation: str, key: str, **request: str) -> list[Any]:
        pages = client.get_paginator(operation).paginate(**request)
        return [item for page in pages for item in page.get(key, ())]
