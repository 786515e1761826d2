"""One local endpoint server, as `build.py endpoint` starts it, and boto3's clients of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError

from tests.endpoint.browser import Browser, chromium
from tests.endpoint.hosting import archives
from tests.endpoint.hosting.conftest import COMPLETE
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.programs import ProgramError

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


@dataclass
class Deployer:
    """Creates models, configurations and endpoints, and removes them all again."""

    local: LocalEndpoint
    sagemaker: Any
    made: list[str]

    def model(self, name: str, url: str = f"s3://{BUCKET}/", mode: str = "MultiModel", **container: Any) -> str:
        container = {"Image": IMAGE, "ModelDataUrl": url, "Mode": mode, "Environment": COMPLETE} | container
        self.sagemaker.create_model(ModelName=name, PrimaryContainer=container)
        return name

    def config(self, name: str, *models: str, instances: int = 1, **variant: Any) -> str:
        """One variant a model: "AllTraffic", or with several models named as they are."""
        variants = [
            {
                "VariantName": model if len(models) > 1 else "AllTraffic",
                "ModelName": model,
                "InitialInstanceCount": instances,
                "InstanceType": "ml.g4dn.xlarge",
                **variant,
            }
            for model in models
        ]
        self.sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=variants)
        return name

    def endpoint(self, name: str, config: str, *, wait: bool = True) -> str:
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)
        self.made.append(name)
        if wait:
            self.sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig=SOON)
        return name

    def multi_model(self, name: str, **options: Any) -> str:
        """A multi-model endpoint over the whole bucket, in service."""
        return self.endpoint(name, self.config(name, self.model(name), **options))

    def single_model(self, name: str, key: str, *, wait: bool = True, **container: Any) -> str:
        self.model(name, f"s3://{BUCKET}/{key}", "SingleModel", **container)
        return self.endpoint(name, self.config(name, name), wait=wait)


@pytest.fixture(scope="session")
def shared(local: LocalEndpoint, sagemaker: Any, s3: Any) -> str:
    """A multi-model endpoint with two archives, for tests that only call it."""
    s3.put_object(Bucket=BUCKET, Key="one.tar.gz", Body=archives.packed(archives.model("one")))
    slow = archives.model("slow", execute="time.sleep(float(x[0]))")
    s3.put_object(Bucket=BUCKET, Key="slow.tar.gz", Body=archives.packed(slow))
    return Deployer(local, sagemaker, []).multi_model("shared")


@pytest.fixture
def deployer(local: LocalEndpoint, sagemaker: Any) -> Iterator[Deployer]:
    deployer = Deployer(local, sagemaker, [])
    yield deployer
    for name in deployer.made:  # and go on while they stop: no two tests use the same name
        with suppress(ClientError, WaiterError):  # not before it is in service, or has failed
            sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig=SOON)
        with suppress(ClientError):
            sagemaker.delete_endpoint(EndpointName=name)


@pytest.fixture
def refused() -> Callable[..., tuple[str, str]]:
    """``refused(call, **parameters)``: the code and message of the ClientError that the call must end with."""

    def call(function: Callable[..., Any], **parameters: Any) -> tuple[str, str]:
        with pytest.raises(ClientError) as caught:
            function(**parameters)
        error = caught.value.response["Error"]
        return error["Code"], error["Message"]

    return call


@pytest.fixture
def put(s3: Any) -> Callable[[str, Any], None]:
    """``put(key, files)``: upload an archive, or bytes as they are."""

    def put(key: str, files: Any) -> None:
        s3.put_object(Bucket=BUCKET, Key=key, Body=files if isinstance(files, bytes) else archives.packed(files))

    return put


@pytest.fixture(scope="session")
def log_of(local: LocalEndpoint) -> Callable[[str], Path]:
    return lambda name: local.root / "logs" / f"{name}.log"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium()
    except ProgramError as error:
        reason = f"NO CHROMIUM: the status page is NOT TESTED. Install it: apt-get install chromium ({error.reason})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with Browser() as browser:
        yield browser
