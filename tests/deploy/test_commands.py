"""The commands on endpoints, with moto in place of AWS: all of them one after the other, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.commands.projects import run, run_in, succeeded
from tests.deploy.conftest import ROLE, MakeArchive
from tests.files import write_files
from tests.hosting.archives import CONFIG
from tests.repositories import pack
from triton_ensembles.checking.examples import IDENTITY
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.stored import stored_archives

pytestmark = pytest.mark.usefixtures("aws")


def test_from_upload_to_undeploy(aws: Aws, archive: Archive) -> None:
    """Every command says what it does, may be repeated, and undeploy leaves nothing behind."""
    where = ("--bucket", "some-bucket", "--endpoint", "an-endpoint")
    first = succeeded(run("upload", archive.path, *where))
    assert f"s3://some-bucket/an-endpoint/{archive.key}  uploaded, 0.0 MB" in first.output
    assert "unchanged, nothing to do" in run("upload", archive.path, *where).output

    options = (archive.path, *where, "--role", ROLE, "--no-cache")
    dry = run("deploy", *options, "--dry-run")
    assert aws.sagemaker.list_models()["Models"] == []
    assert f"endpoint an-endpoint: 1 x ml.c5.xlarge, image {PIP_SERVER}" in dry.output
    assert "cost: 1 x ml.c5.xlarge for every hour, used or not" in dry.output

    assert "created; run undeploy to stop the cost" in run("deploy", *options).output
    assert "unchanged" in run("deploy", *options).output
    (listed,) = aws.sagemaker.list_models()["Models"]
    container = aws.sagemaker.describe_model(ModelName=listed["ModelName"])["PrimaryContainer"]
    assert container["MultiModelConfig"] == {"ModelCacheSetting": "Disabled"}

    shown = run("status", "--endpoint", "an-endpoint")
    assert shown.exit_code == 0
    assert "an-endpoint: InService" in shown.output
    assert "AllTraffic: 1 of 1 ml.c5.xlarge" in shown.output
    assert f"{archive.key}  0.0 MB, weights pretrained" in shown.output

    scaled = succeeded(run("autoscale", "--endpoint", "an-endpoint", "--target-value", "70", "--max", "3"))
    assert "1 to 3 instances, SageMakerVariantInvocationsPerInstance at 70, cooldown 600 s" in scaled.output
    assert "cooldown 600 s in, 200 s out" in run("status", "--endpoint", "an-endpoint").output

    succeeded(run("undeploy", *where))
    assert aws.s3.list_buckets()["Buckets"] == []
    assert aws.sagemaker.list_endpoints()["Endpoints"] == []
    assert aws.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"] == []
    assert aws.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"] == []
    assert "nothing to delete" in run("undeploy", *where).output
    assert run("status", "--endpoint", "an-endpoint").exit_code == 1


def test_the_bucket_is_named_after_the_account(aws: Aws, archive: Archive) -> None:
    """The names of buckets are unique in the world: a fixed one would belong to the first user."""
    run("upload", archive.path)
    (bucket,) = aws.s3.list_buckets()["Buckets"]
    assert bucket["Name"] == "triton-ensembles-eu-central-1-123456789012"
    run("undeploy")
    assert aws.s3.list_buckets()["Buckets"] == []


def test_archives_of_no_ensemble_are_left_out(aws: Aws, archive: Archive, tmp_path: Path) -> None:
    """Otherwise what a deleted or renamed ensemble has left in dist/ would block the upload, or be served."""
    files = {"ensembles/echo/ensemble.toml": "", "dist/cpu/stale.tar.gz": "not an archive"}
    project = write_files(tmp_path / "project", files)
    dist = project / "dist" / "cpu"
    assert "; run: build.py build" in run_in(project, "upload").stderr
    archive.path.rename(dist / "echo.tar.gz")

    result = succeeded(run_in(project, "upload", "--bucket", "some-bucket"))
    assert "note: left out, as no ensemble here makes them: " in result.output
    assert "dist/cpu/stale.tar.gz; name them to include them" in result.output
    stored = stored_archives(aws, S3Prefix("some-bucket", "triton-ensembles"))
    assert list(stored) == [archive.key]

    named = run("upload", dist / "stale.tar.gz", "--bucket", "some-bucket")
    assert "stale.tar.gz: error[archive-unreadable]" in named.output


def test_random_weights_are_refused_unless_allowed(make_archive: MakeArchive) -> None:
    """They are reported when they are uploaded and deployed, and later by status, as is what somebody put into git."""
    provided = make_archive("echo", weights="provided")
    run("upload", provided.path)
    assert run("deploy", provided.path, "--role", ROLE).exit_code == 0
    assert f"{provided.key}  0.0 MB, weights provided: some came by hand" in run("status").output
    archive = make_archive("toy", weights="random")
    for command, options in (("upload", ()), ("deploy", ("--role", ROLE))):
        refused = run(command, archive.path, *options)
        assert refused.exit_code == 1 and "error: " in refused.stderr
        assert "toy HAS RANDOM WEIGHTS" in refused.output
        allowed = run(command, archive.path, *options, "--allow-random")
        assert allowed.exit_code == 0
        assert "toy HAS RANDOM WEIGHTS" in allowed.output
    assert f"{archive.key} HAS RANDOM WEIGHTS" in run("status").output


def test_archives_are_checked_for_the_image(make_archive: MakeArchive) -> None:
    """Otherwise a TensorFlow model would fail ten minutes later, at its first request to an image without it."""
    archive = make_archive("old", config=CONFIG.replace('backend: "python"', 'platform: "tensorflow_graphdef"'))
    options = ("--role", ROLE, "--image", "25.04", "--instance", "ml.g4dn.xlarge", "--dry-run")
    result = run("deploy", archive.path, *options)
    assert result.exit_code == 1
    assert "check refuses these archives for 763104351884.dkr.ecr.eu-central-1" in result.output
    assert "tensorflow" in result.output


def test_a_fused_archive_needs_no_option(make_archive: MakeArchive) -> None:
    """It says its image and its instance type; the image is the one for CPU instances."""
    archive = make_archive("echo", target="fused", image="25.09", instance="ml.r5.xlarge", python="3.12")
    assert run("upload", archive.path).exit_code == 0
    shown = succeeded(run("deploy", archive.path, "--role", ROLE))
    image = "763104351884.dkr.ecr.eu-central-1.amazonaws.com/sagemaker-tritonserver:25.09-py3-cpu"
    assert f"endpoint triton-ensembles: 1 x ml.r5.xlarge, image {image}" in shown.output
    assert "created; run undeploy" in shown.output
    elsewhere = run("deploy", archive.path, "--role", ROLE, "--instance", "ml.g5.xlarge", "--dry-run")
    assert f"1 x ml.g5.xlarge, image {image.removesuffix('-cpu')}\n" in elsewhere.output


def test_an_archive_for_this_machine_is_refused_on_aws(aws: Aws, make_archive: MakeArchive) -> None:
    """Before anything is created; otherwise its model would fail at the first request."""
    archive = make_archive("echo", target="fused", image="", instance="", python="3.11")
    run("upload", archive.path)
    refused = run("deploy", archive.path, "--role", ROLE)
    words = "AWS has no image for these archives, built for the server on this machine (Python 3.11): echo; "
    assert refused.stderr.startswith(f"error: {words}")
    assert "--image 24.09" in refused.output
    other = run("deploy", archive.path, "--role", ROLE, "--image", "24.09")
    assert "archive-python" in other.output
    assert "is for Python 3.11, and the stub of Triton 24.09 is for Python 3.10" in other.output
    assert aws.sagemaker.list_models()["Models"] == aws.sagemaker.list_endpoint_configs()["EndpointConfigs"] == []
    # An image of one's own may have this Python.
    mine = run("deploy", archive.path, "--role", ROLE, "--image-uri", "123.dkr.ecr.us-east-1.amazonaws.com/mine:7")
    assert mine.exit_code == 0, mine.output
    assert "names no release, so the archives were not checked against its content" in mine.output


def test_an_archive_is_uploaded_first_and_others_under_the_prefix_are_reported(aws: Aws, archive: Archive) -> None:
    """The endpoint serves them too, although nobody has checked them now."""
    options = (archive.path, "--bucket", "some-bucket")
    place = "s3://some-bucket/triton-ensembles/"
    refused = run("deploy", *options, "--role", ROLE)
    assert refused.stderr == f"error: {place} does not contain {archive.key}; run upload first\n"
    run("upload", *options)
    aws.s3.put_object(Bucket="some-bucket", Key="triton-ensembles/other.tar.gz", Body=b"?")
    shown = run("deploy", *options, "--role", ROLE, "--dry-run").output
    assert f"note: other archives under {place}, served too and not checked now: 1" in shown


def test_an_archive_for_the_python_of_another_image_is_uploaded(aws: Aws, tmp_path: Path) -> None:
    """`build PATH --image 24.09` writes no manifest that says so, and only deploy knows the image."""
    files = {"step/config.pbtxt": 'backend: "python"', "step/1/model.py": IDENTITY, "step/1/mine/__init__.py": ""}
    write_files(tmp_path / "models", files | {"step/1/mine-1.dist-info/WHEEL": "Tag: cp38-cp38-manylinux_2_17_x86_64"})
    pack(tmp_path / "models", archive := tmp_path / "model.tar.gz", "step")
    succeeded(run("upload", archive, "--bucket", "some-bucket", "--dry-run"))
    assert "environment-wheels-python" in run("deploy", archive, "--role", ROLE, "--image", "24.09").output


def test_a_wrong_name_and_a_missing_region_are_refused_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise boto3's NoRegionError would be a traceback."""
    wrong = run("status", "--endpoint", "no_such")
    assert wrong.stderr.startswith("error: 'no_such' is not a valid endpoint name; use letters and digits")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    assert run("status").stderr == "error: no AWS region is set; export AWS_DEFAULT_REGION, for example us-east-1\n"


def test_the_keys_of_upload_and_status(archive: Archive) -> None:
    uploaded = json.loads(run("upload", archive.path, "--format", "json").stdout)
    assert uploaded["uploaded"] == 1
    (one,) = uploaded["archives"]
    assert one["key"] == archive.key and sorted(one) == ["key", "name", "sha256", "size", "weights"]
    shown = json.loads(run("status", "--format", "json").stdout)
    assert shown == {"endpoint": "triton-ensembles", "in_service": False, "lines": ["triton-ensembles: does not exist"]}


def test_a_model_that_does_not_answer_does_not_stop_the_others() -> None:
    asked = run("invoke", "one", "two", "--format", "json")
    assert asked.exit_code == 1
    shown = json.loads(asked.stdout)
    assert shown["answers"] == [] and [each["model"] for each in shown["failed"]] == ["one", "two"]
    assert "2 of 2 models did not answer" in asked.stderr
