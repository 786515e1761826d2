"""The commands as people type them, with moto in AWS's place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.deploy.conftest import MakeArchive
from triton_ensembles.commands import deploy as command
from triton_ensembles.commands.invoke import invoke
from triton_ensembles.deploy import sagemaker_endpoint
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.errors import EnsembleError

ROLE = "arn:aws:iam::123456789012:role/some-role"
Run = Callable[..., Result]


@pytest.fixture
def run(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run(command, "--flag", …)``; an error for people is in ``result.exception``."""
    monkeypatch.setattr(hosted, "_FIRST_PAUSE", 0.001)
    monkeypatch.delenv("SAGEMAKER_ROLE", raising=False)

    def call(wanted: click.Command, *arguments: str | Path) -> Result:
        return CliRunner().invoke(wanted, [str(each) for each in arguments])

    return call


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    return make_archive("echo")


def test_from_upload_to_undeploy(run: Run, aws: Aws, archive: Archive) -> None:
    where = ("--bucket", "some-bucket", "--endpoint", "an-endpoint")
    first = run(command.upload, archive.path, *where)
    assert first.exit_code == 0, first.output
    assert f"s3://some-bucket/an-endpoint/{archive.key}  uploading" in first.output
    assert "unchanged, nothing to do" in run(command.upload, archive.path, *where).output

    options = (archive.path, *where, "--role", ROLE)
    dry = run(command.deploy, *options, "--dry-run")
    assert aws.sagemaker.list_models()["Models"] == []
    assert f"endpoint an-endpoint: 1 x ml.c5.xlarge, image {PIP_SERVER}" in dry.output
    assert "cost: 1 x ml.c5.xlarge for every hour that it exists" in dry.output

    assert "created; undeploy ends the cost" in run(command.deploy, *options).output
    assert "unchanged" in run(command.deploy, *options).output

    shown = run(command.status, "--endpoint", "an-endpoint")
    assert shown.exit_code == 0
    assert "an-endpoint: InService" in shown.output
    assert "AllTraffic: 1 of 1 ml.c5.xlarge" in shown.output
    assert f"{archive.key}  0.0 MB, weights pretrained" in shown.output

    scaled = run(command.autoscale, "--endpoint", "an-endpoint", "--target-value", "70", "--max", "3")
    assert scaled.exit_code == 0, scaled.output
    assert "1 to 3 instances, SageMakerVariantInvocationsPerInstance at 70 a minute; cooldown 600 s in, 200 s out" in (
        scaled.output
    )
    assert "cooldown 600 s in, 200 s out" in run(command.status, "--endpoint", "an-endpoint").output

    gone = run(command.undeploy, *where)
    assert gone.exit_code == 0, gone.output
    assert aws.s3.list_buckets()["Buckets"] == []
    assert aws.sagemaker.list_endpoints()["Endpoints"] == []
    assert aws.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"] == []
    assert "nothing to remove" in run(command.undeploy, *where).output
    assert run(command.status, "--endpoint", "an-endpoint").exit_code == 1


def test_random_weights_are_refused_at_both_doors(run: Run, make_archive: MakeArchive) -> None:
    archive, where = make_archive("toy", weights="random"), ("--bucket", "some-bucket")
    for wanted in (command.upload, command.deploy):
        result = run(wanted, archive.path, *where, *(("--role", ROLE) if wanted is command.deploy else ()))
        assert isinstance(result.exception, EnsembleError)
        assert "mean nothing: toy" in str(result.exception)
    assert run(command.upload, archive.path, *where, "--allow-random").exit_code == 0
    result = run(command.deploy, archive.path, *where, "--role", ROLE, "--allow-random")
    assert "HAS RANDOM WEIGHTS" in result.output
    assert "weights  RANDOM" in run(command.status).output


def test_deploy_refuses_what_check_refuses_for_the_image(run: Run, make_archive: MakeArchive) -> None:
    """A TensorFlow model on an image without TensorFlow would fail at its first request, ten minutes later."""
    config = 'name: "{name}"\nplatform: "tensorflow_graphdef"\nmax_batch_size: 1\n'
    tensors = 'input [ {{ name: "x" data_type: TYPE_FP32 dims: [ 1 ] }} ]\n'
    tensors += 'output [ {{ name: "y" data_type: TYPE_FP32 dims: [ 1 ] }} ]\n'
    archive, where = make_archive("old", config=config + tensors), ("--bucket", "some-bucket", "--role", ROLE)
    result = run(command.deploy, archive.path, *where, "--image", "25.04", "--instance", "ml.g4dn.xlarge", "--dry-run")
    assert isinstance(result.exception, EnsembleError)
    assert "check refuses these archives for 763104351884.dkr.ecr.eu-central-1" in str(result.exception)
    assert "tensorflow" in str(result.exception)


def test_deploy_wants_the_archives_there_first(run: Run, archive: Archive) -> None:
    result = run(command.deploy, archive.path, "--bucket", "some-bucket", "--role", ROLE)
    assert str(result.exception) == (f"s3://some-bucket/triton-ensembles/ does not have {archive.key}; upload first")


def test_archives_that_nobody_checked_here_are_told(run: Run, aws: Aws, archive: Archive) -> None:
    run(command.upload, archive.path, "--bucket", "some-bucket")
    aws.s3.put_object(Bucket="some-bucket", Key="triton-ensembles/other.tar.gz", Body=b"?")
    result = run(command.deploy, archive.path, "--bucket", "some-bucket", "--role", ROLE, "--dry-run")
    assert "note: 1 more archives are under s3://some-bucket/triton-ensembles/" in result.output


@pytest.mark.parametrize(
    ("wanted", "arguments", "words"),
    [
        (command.deploy, ["--bucket", "b"], "--role"),
        (command.autoscale, [], "--metric invocations needs --target-value"),
        (command.autoscale, ["--min", "3", "--target-value", "1"], "--min 3 is more than --max 2"),
        (command.status, ["--endpoint", "no_such"], "cannot be the name of an endpoint"),
        (invoke, ["one", "two", "--output", "x"], "--output takes the answer of one MODEL"),
    ],
)
def test_wrong_usage_says_what_is_missing(run: Run, wanted: click.Command, arguments: list[str], words: str) -> None:
    result = run(wanted, *arguments)
    assert words in f"{result.output} {result.exception}"
    assert result.exit_code != 0


def test_the_bucket_is_named_after_the_account(run: Run, aws: Aws, archive: Archive) -> None:
    """Names of buckets are taken world-wide; a fixed one would belong to the first user."""
    assert run(command.upload, archive.path).exit_code == 0
    (bucket,) = aws.s3.list_buckets()["Buckets"]
    assert bucket["Name"] == "triton-ensembles-eu-central-1-123456789012"
    assert run(command.undeploy).exit_code == 0
    assert aws.s3.list_buckets()["Buckets"] == []


def test_sigterm_cleans_up_like_ctrl_c(run: Run, aws: Aws, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CI job that is cancelled would otherwise leave an endpoint that costs money."""
    run(command.upload, archive.path)
    before = signal.getsignal(signal.SIGTERM)
    make = Aws.sagemaker.func  # type: ignore[attr-defined]

    def make_interrupting(self: Aws) -> Any:
        client = make(self)
        create = client.create_endpoint

        def create_and_terminate(**request: Any) -> None:
            create(**request)
            os.kill(os.getpid(), signal.SIGTERM)

        client.create_endpoint = create_and_terminate
        return client

    monkeypatch.setattr(Aws, "sagemaker", property(make_interrupting))
    result = run(command.deploy, archive.path, "--role", ROLE)
    assert result.exit_code == 1
    assert "removing the endpoint triton-ensembles again" in result.output
    for names in (aws.sagemaker.list_endpoints()["Endpoints"], aws.sagemaker.list_models()["Models"]):
        assert names == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_no_region(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    result = run(command.status)
    assert str(result.exception) == "no AWS region is set; export AWS_DEFAULT_REGION, for instance us-east-1"
