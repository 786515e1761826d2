"""Archives behind the local endpoint, in service."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from triton_ensembles.endpoint.local import LocalEndpoint

NAME = "benchmark"
_ROLE = "arn:aws:iam::000000000000:role/execution-role"


@contextmanager
def running_endpoint(
    folder: Path, archives: Iterable[Path], *arguments: str, flags: str = ""
) -> Iterator[LocalEndpoint]:
    """A multi-model endpoint of one instance with these archives, in service.

    Args:
        folder: its working folder.
        archives: each is uploaded before the next one is taken.
        arguments: of the command ``endpoint``, such as its budgets.
        flags: of tritonserver.
    """
    # SageMaker's default is a line in the log for each step of each request; production switches it off.
    environment = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false", "SAGEMAKER_TRITON_ADDITIONAL_ARGS": flags}
    container = {
        "Image": "sagemaker-tritonserver",
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{NAME}/models/",
        "Environment": {name: value for name, value in environment.items() if value},
    }
    with LocalEndpoint(folder / "root", *arguments) as local:
        s3, sagemaker = local.client("s3"), local.client("sagemaker")
        s3.create_bucket(Bucket=NAME)
        for path in archives:
            s3.upload_file(str(path), NAME, f"models/{path.name}")
        sagemaker.create_model(ModelName=NAME, ExecutionRoleArn=_ROLE, PrimaryContainer=container)
        variant = {"VariantName": NAME, "ModelName": NAME, "InstanceType": "ml.c5.xlarge", "InitialInstanceCount": 1}
        sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=[variant])
        sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
        sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME)
        yield local
