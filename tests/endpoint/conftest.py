"""One local endpoint server, as `build.py endpoint` starts it, and boto3's clients of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError, WaiterError

from tests.hosting import archives
from tests.hosting.conftest import COMPLETE
from triton_ensembles.endpoint.local import LocalEndpoint

# It names no release, so the steps run under the Python that runs the tests.
IMAGE = "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:local"
BUCKET = "models"
SOON = {"Delay": 0.1, "MaxAttempts": 3000}  # boto3 itself looks every half minute


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(tmp_path_factory.mktemp("endpoint")) as local:
        local.client("s3").create_bucket(Bucket=BUCKET)
        yield local


@pytest.fixture(scope="session")
def s3(local: LocalEndpoint) -> Any:
    return local.client("s3")


@pytest.fixture(scope="session")
def sagemaker(local: LocalEndpoint) -> Any:
    return local.client("sagemaker")


@pytest.fixture(scope="session")
def runtime(local: LocalEndpoint) -> Any:
    return local.client("sagemaker-runtime", retries={"total_max_attempts": 1})


class Deployer:
    """Uploads archives, creates models, configurations and endpoints, and removes these all again."""

    def __init__(self, local: LocalEndpoint) -> None:
        self.sagemaker, self._s3 = local.client("sagemaker"), local.client("s3")
        self.made: list[str] = []

    def put(self, key: str, files: Any) -> None:
        """Upload an archive of the files, or bytes as they are."""
        body = files if isinstance(files, bytes) else archives.packed(files)
        self._s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def model(self, name: str, url: str = f"s3://{BUCKET}/", mode: str = "MultiModel", **container: Any) -> str:
        container = {"Image": IMAGE, "ModelDataUrl": url, "Mode": mode, "Environment": COMPLETE} | container
        self.sagemaker.create_model(ModelName=name, PrimaryContainer=container)
        return name

    def config(self, name: str, *models: str, instances: int = 1, weights: Sequence[float] = (), **variant: Any) -> str:
        """One variant a model: "AllTraffic", or with weights named as the models are."""
        common = {"InitialInstanceCount": instances, "InstanceType": "ml.g4dn.xlarge", **variant}
        variants = [
            {"VariantName": model if weights else "AllTraffic", "ModelName": model, "InitialVariantWeight": weight}
            for model, weight in zip(models, weights or [1.0], strict=True)
        ]
        self.sagemaker.create_endpoint_config(
            EndpointConfigName=name, ProductionVariants=[variant | common for variant in variants]
        )
        return name

    def endpoint(self, name: str, config: str, *, wait: bool = True) -> str:
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)
        self.made.append(name)
        if wait:
            in_service(self.sagemaker, name)
        return name

    def multi_model(self, name: str, url: str = f"s3://{BUCKET}/", instances: int = 1, **container: Any) -> str:
        """A multi-model endpoint, in service."""
        return self.endpoint(name, self.config(name, self.model(name, url, **container), instances=instances))

    def single_model(self, name: str, files: Any, *, wait: bool = True, **container: Any) -> str:
        """A single-model endpoint of an archive of the same name, which is uploaded."""
        self.put(f"{name}.tar.gz", files)
        self.model(name, f"s3://{BUCKET}/{name}.tar.gz", "SingleModel", **container)
        return self.endpoint(name, self.config(name, name), wait=wait)


def in_service(sagemaker: Any, name: str) -> None:
    """Wait until the endpoint is. Raises botocore's WaiterError when it fails."""
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig=SOON)


def ask(runtime: Any, endpoint: str, target: str | None, *values: float) -> list[float]:
    """The model's numbers for these."""
    names = {"EndpointName": endpoint} | ({"TargetModel": target} if target else {})
    return archives.values(runtime.invoke_endpoint(**names, Body=archives.body(*values))["Body"].read())


def refused(function: Callable[..., Any], **parameters: Any) -> tuple[str, str]:
    """The code and message of the ClientError that the call must end with."""
    with pytest.raises(ClientError) as caught:
        function(**parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def signed(service: str) -> str:
    """The header Authorization of a request to a service of AWS, whose signature nobody looks at."""
    return (
        f"AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )


def page(local: LocalEndpoint) -> str:
    """The HTML of the status page."""
    return requests.get(local.url, timeout=300).text


@pytest.fixture(scope="session")
def shared(local: LocalEndpoint) -> str:
    """A multi-model endpoint with one archive, for tests that only call it. The default model of AWS's notebooks has no
    effect there: TargetModel chooses."""
    deployer = Deployer(local)
    deployer.put("one.tar.gz", archives.model("one"))
    named = {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "ensemble_dali_inception"}
    return deployer.multi_model("shared", Environment=COMPLETE | named)


@pytest.fixture
def deployer(local: LocalEndpoint) -> Iterator[Deployer]:
    deployer = Deployer(local)
    yield deployer
    for name in deployer.made:  # and go on while they stop: no two tests use the same name
        with suppress(ClientError, WaiterError):  # not before it is in service, or has failed
            in_service(deployer.sagemaker, name)
        with suppress(ClientError):
            deployer.sagemaker.delete_endpoint(EndpointName=name)
