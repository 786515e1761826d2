"""The fixture sagemaker_endpoint in a project of someone's own: clean for each test, and never AWS itself."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.files import write_files
from tests.hosting.archives import CALL, model, packed
from tests.pytest_plugin.conftest import Run

_ASK = """
import json, os, subprocess, sys
import boto3
import pytest
from tests.processes import wait_until

BODY = json.dumps({"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]})

def ask(runtime, name, body=BODY):
    request = {"EndpointName": name, "TargetModel": "chain.tar.gz", "ContentType": "application/octet-stream"}
    return json.load(runtime.invoke_endpoint(**request, Body=body)["Body"])["outputs"][0]["data"]
"""


@pytest.fixture(autouse=True)
def of_the_user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a developer's machine is set up for: profiles, credentials, another endpoint, many retries, a proxy.

    The home of a pytest that ``pytester`` starts is its folder.
    """
    config = "[default]\nregion = eu-west-1\nendpoint_url = http://127.0.0.1:1\n[profile mine]\nregion = eu-west-2\n"
    credentials = "[mine]\naws_access_key_id = REAL\naws_secret_access_key = REAL\n"
    write_files(pytester.path / ".aws", {"config": config, "credentials": credentials})
    proxy = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
    keys = {"AWS_PROFILE": "mine", "AWS_ACCESS_KEY_ID": "REAL", "AWS_SESSION_TOKEN": "REAL"}
    settings = {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_MAX_ATTEMPTS": "9", **keys, **proxy}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_no_test_sees_what_another_has_created_or_what_the_user_has_of_aws(project: Path, run: Run) -> None:
    model = project / "ensembles" / "chain" / "first" / "1" / "model.py"
    model.write_text(model.read_text().replace("time.sleep", "print('rows', len(requests), flush=True); time.sleep"))
    code = """
        NAMES = {"ResourceId": "endpoint/busy/variant/AllTraffic", "ServiceNamespace": "sagemaker",
                 "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}
        SHARE = "import boto3; print(boto3.client('s3').meta.endpoint_url, boto3.client('sts').get_caller_identity())"

        @pytest.fixture(scope="session")
        def kept(sagemaker_endpoint_proc):
            sagemaker_endpoint_proc.client("s3").create_bucket(Bucket="kept")
            return sagemaker_endpoint_proc.pid

        def contents(endpoint):
            sagemaker, s3 = endpoint.client("sagemaker"), endpoint.client("s3")
            scaling, cloudwatch = endpoint.client("application-autoscaling"), endpoint.client("cloudwatch")
            objects = s3.list_object_versions(Bucket="kept")
            return [
                *sagemaker.list_endpoints()["Endpoints"], *sagemaker.list_endpoint_configs()["EndpointConfigs"],
                *sagemaker.list_models()["Models"], *s3.list_buckets()["Buckets"][1:], *objects.get("Versions", ()),
                *objects.get("DeleteMarkers", ()), *s3.list_multipart_uploads(Bucket="kept").get("Uploads", ()),
                *scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"],
                *cloudwatch.describe_alarms()["MetricAlarms"],
            ]

        @pytest.mark.parametrize("again", [False, True])
        def test_creates(kept, sagemaker_endpoint, sagemaker_endpoint_proc, monkeypatch, again):
            assert contents(sagemaker_endpoint) == []
            assert sagemaker_endpoint_proc.pid == kept  # emptied, not started again
            name = sagemaker_endpoint.deploy("ensembles/chain", name="busy")
            assert ask(boto3.client("sagemaker-runtime"), name) == [3, 4, 5]  # as the code under test makes it
            s3, scaling = boto3.client("s3"), boto3.client("application-autoscaling")
            s3.put_bucket_versioning(Bucket="kept", VersioningConfiguration={"Status": "Enabled"})
            for _ in range(2):
                s3.put_object(Bucket="kept", Key="object", Body=b"")
            s3.delete_object(Bucket="kept", Key="object")
            s3.create_multipart_upload(Bucket="kept", Key="parts")
            scaling.register_scalable_target(**NAMES, MinCapacity=1, MaxCapacity=1)
            policy = {"TargetValue": 5.0, "PredefinedMetricSpecification":
                      {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}}
            scaling.put_scaling_policy(**NAMES, PolicyName="p", PolicyType="TargetTrackingScaling",
                                       TargetTrackingScalingPolicyConfiguration=policy)
            boto3.client("cloudwatch").put_metric_alarm(
                AlarmName="a", MetricName="m", Namespace="n", Period=60, EvaluationPeriods=1, Threshold=1,
                ComparisonOperator="GreaterThanThreshold", Statistic="Sum")
            sagemaker = sagemaker_endpoint.client("sagemaker")
            sagemaker.create_endpoint(EndpointName="being-created", EndpointConfigName=name)  # nobody waits for it
            assert len(contents(sagemaker_endpoint)) >= 11
            monkeypatch.setenv("AWS_PROFILE", "another")
            assert sagemaker_endpoint.client("s3").meta.endpoint_url == sagemaker_endpoint.url
            program = subprocess.run([sys.executable, "-c", SHARE], env=sagemaker_endpoint.environment(),
                                     check=True, capture_output=True, text=True)
            assert program.stdout.startswith(sagemaker_endpoint.url)

        def test_fails(sagemaker_endpoint):
            with pytest.raises(Exception, match="reached max retries: 0|ModelError"):  # at the first time
                ask(sagemaker_endpoint.client("sagemaker-runtime"), sagemaker_endpoint.deploy("ensembles/chain"), "{}")
            assert 0

        def test_the_users_settings_are_back():
            assert os.environ["AWS_PROFILE"] == "mine"
            assert "AWS_ENDPOINT_URL" not in os.environ
            assert boto3.DEFAULT_SESSION is None

        def test_a_process_that_was_killed_is_replaced(kept, sagemaker_endpoint_proc, request):
            os.kill(sagemaker_endpoint_proc.pid, 9)
            wait_until(lambda: sagemaker_endpoint_proc.pid is None)
            endpoint = request.getfixturevalue("sagemaker_endpoint")
            assert endpoint.client("sagemaker").list_models()["Models"] == []
            assert sagemaker_endpoint_proc.pid != kept
    """
    result = run(_ASK + dedent(code), "-v")
    result.assert_outcomes(passed=4, failed=1)
    shown = "\n".join(result.outlines).partition("- tritonserver log -")[2]
    assert "Loading SageMaker TargetModel: chain.tar.gz" in shown
    assert "rows 1" not in shown  # of the tests before
    assert "being-created" not in shown


def test_a_single_model_endpoint(project: Path, run: Run) -> None:
    """Of a repository that a multi-model endpoint cannot serve: a model that calls another, and no ensemble."""
    helper = model("helper", execute="x = x * 10")
    write_files(project / "calling", model("caller", execute=CALL) | helper)
    (project / "pair.tar.gz").write_bytes(packed(model("a") | model("b")))
    code = """
        def test_it_answers_without_a_target_model(sagemaker_endpoint):
            with pytest.raises(Exception, match="sagemaker-no-ensemble"):
                sagemaker_endpoint.deploy("calling")
            name = sagemaker_endpoint.deploy("calling", single=True)
            answer = sagemaker_endpoint.client("sagemaker-runtime").invoke_endpoint(
                EndpointName=name, ContentType="application/json", Body=BODY.replace("[1, 3]", "[3]"))
            assert json.load(answer["Body"])["outputs"][0]["data"] == [10, 20, 30]

        def test_what_it_cannot_serve_is_refused_before_anything_is_created(sagemaker_endpoint):
            for paths, words in ((("calling", "pair.tar.gz"), "serves one archive, and these are 2; name one"),
                                 ((), "and these are 0"), (("pair.tar.gz",), "any of these may be meant: 'a' and 'b'")):
                with pytest.raises(Exception, match=words):
                    sagemaker_endpoint.deploy(*paths, single=True)
            assert sagemaker_endpoint.client("s3").list_buckets()["Buckets"] == []
            named = {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "b"}
            assert sagemaker_endpoint.deploy("pair.tar.gz", single=True, environment=named)
    """
    run(_ASK + dedent(code)).assert_outcomes(passed=2)
