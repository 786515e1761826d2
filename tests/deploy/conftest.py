"""AWS simulated in this process by moto, and small archives in which check finds no errors."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from moto import mock_aws

from tests.commands import projects
from tests.files import write_files
from tests.hosting.archives import CONFIG, model
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy import sagemaker_endpoint
from triton_ensembles.deploy.archives import Archive, read_archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.desired_endpoint import DesiredEndpoint
from triton_ensembles.deploy.stored import delete_uploaded, stored_archives
from triton_ensembles.deploy.uploads import upload_archives
from triton_ensembles.endpoint.announcement import environment
from triton_ensembles.endpoint.local import LocalEndpoint

ROLE = "arn:aws:iam::123456789012:role/some-role"
DESIRED = DesiredEndpoint("an-endpoint", ROLE, "some/image:1", "ml.g4dn.xlarge", 1, "s3://some-bucket/an-endpoint/")

MakeArchive = Callable[..., Archive]
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(tmp_path_factory.mktemp("endpoint")) as local:
        yield local


@pytest.fixture
def run(local: LocalEndpoint, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a command as people do: with the variables that the local endpoint prints, and nothing else that tells where
    it runs. In the end the endpoint that the module NAMEs is removed, unless all that was run was refused."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(local.url, "us-east-1").items():
        monkeypatch.setenv(name, value)
    codes = set()

    def call(*words: str | Path) -> Result:
        result = projects.run(*words)
        codes.add(result.exit_code)
        return result

    yield call
    if 0 in codes:
        call("undeploy", *request.module.NAME)


@pytest.fixture
def make_archive(tmp_path: Path) -> MakeArchive:
    """``make_archive("echo")`` packs a model that returns its input; ``weights`` and more go into its manifest."""

    def make(name: str = "echo", weights: str = "pretrained", config: str = CONFIG, **more: str) -> Archive:
        files = model(name) | {f"{name}/config.pbtxt": config.format(name=name).encode()}
        if weights:
            files["manifest.json"] = json.dumps({"ensemble": name, "weights": weights, **more}).encode()
        path = tmp_path / f"{name}.tar.gz"
        write_archive(write_files(tmp_path / f"tree-{name}", files), path)
        return read_archive(path)

    return make


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    return make_archive("echo")


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def container(local: LocalEndpoint) -> dict[str, Any]:
    """The container of the only model."""
    client = local.client("sagemaker")
    (listed,) = client.list_models()["Models"]
    return dict(client.describe_model(ModelName=listed["ModelName"])["PrimaryContainer"])


@pytest.fixture
def aws(credentials: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """S3, SageMaker's control plane and auto scaling, simulated by moto."""
    monkeypatch.setattr(sagemaker_endpoint, "FIRST_PAUSE", 0.001)
    with mock_aws():
        yield Aws()


@pytest.fixture
def place() -> S3Prefix:
    return S3Prefix("some-bucket", "some-endpoint")


@pytest.fixture
def lines() -> list[str]:
    """Collect what is reported as progress, line by line: pass ``lines.append``."""
    return []


@dataclass
class Bucket:
    """The archives of an endpoint in S3; ``lines`` is what their upload reports as progress."""

    aws: Aws
    place: S3Prefix
    lines: list[str]

    def upload(self, *archives: Archive) -> int:
        """How many were uploaded."""
        return len(upload_archives(self.aws, self.place, archives, self.lines.append))

    def delete(self) -> int:
        """Delete what was uploaded, and the bucket where nothing else is in it."""
        return delete_uploaded(self.aws, self.place, self.lines.append)

    def put(self, name: str, body: bytes, **fields: Any) -> None:
        """An object as somebody else writes it."""
        self.aws.s3.put_object(Bucket=self.place.bucket, Key=self.place.folder + name, Body=body, **fields)

    def head(self, name: str) -> dict[str, str]:
        """The metadata of an object."""
        return dict(self.aws.s3.head_object(Bucket=self.place.bucket, Key=self.place.folder + name)["Metadata"])

    def archives(self) -> dict[str, str]:
        """The keys of the archives and the SHA-256 of each as it comes back."""
        keys = list(stored_archives(self.aws, self.place))
        answers = [self.aws.s3.get_object(Bucket=self.place.bucket, Key=self.place.folder + key) for key in keys]
        return {key: sha256(answer["Body"].read()).hexdigest() for key, answer in zip(keys, answers, strict=True)}

    def exists(self) -> bool:
        return self.place.bucket in [bucket["Name"] for bucket in self.aws.s3.list_buckets()["Buckets"]]


@pytest.fixture
def bucket(aws: Aws, place: S3Prefix, lines: list[str]) -> Bucket:
    return Bucket(aws, place, lines)
