"""Hosting: what SageMaker does between InvokeEndpoint and the container.

variant.py    a production variant: instances, and which of them takes a request
instance.py   one tritonserver with its models: started, watched, started anew when it dies
models.py     the life of the models on one instance: download, extract, load, invoke, unload, delete
policy.py     which model has to go first
extract.py    archives unpacked safely
objects.py    where archives come from
"""

from triton_ensembles.endpoint.hosting.budgets import Budgets
from triton_ensembles.endpoint.hosting.container import ContainerSpec
from triton_ensembles.endpoint.hosting.errors import (
    HostingError,
    InternalFailure,
    ModelError,
    ModelNotReadyException,
    ServiceUnavailable,
    ValidationError,
)
from triton_ensembles.endpoint.hosting.objects import DownloadFailed, ModelObjects, ObjectInfo, ObjectMissing
from triton_ensembles.endpoint.hosting.observer import Event, Metric, Observer, Unit
from triton_ensembles.endpoint.hosting.request import Invocation, Reply
from triton_ensembles.endpoint.hosting.status import (
    ColdStart,
    Happening,
    InstanceStatus,
    ModelState,
    ModelStatus,
    VariantStatus,
)
from triton_ensembles.endpoint.hosting.variant import Variant

__all__ = [
    "Budgets",
    "ColdStart",
    "ContainerSpec",
    "DownloadFailed",
    "Event",
    "Happening",
    "HostingError",
    "InstanceStatus",
    "InternalFailure",
    "Invocation",
    "Metric",
    "ModelError",
    "ModelNotReadyException",
    "ModelObjects",
    "ModelState",
    "ModelStatus",
    "ObjectInfo",
    "ObjectMissing",
    "Observer",
    "Reply",
    "ServiceUnavailable",
    "Unit",
    "ValidationError",
    "Variant",
    "VariantStatus",
]
