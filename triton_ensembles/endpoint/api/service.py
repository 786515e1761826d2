"""botocore's own service models: what boto3 believes SageMaker's API to be is what requests are checked against."""

from __future__ import annotations

from functools import cache

from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel


@cache
def service_model(name: str) -> ServiceModel:
    """The newest service-2.json of ``name`` ("sagemaker", "sagemaker-runtime") in the installed botocore."""
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def operation_model(service: str, operation: str) -> OperationModel | None:
    """None where the service has no such operation."""
    model = service_model(service)
    return model.operation_model(operation) if operation in model.operation_names else None
