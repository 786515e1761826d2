"""AWS's four hosting modes on the real local endpoint: what deploys, answers, is shown, scaled and removed."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from tests.commands.projects import run_in, succeeded
from tests.deploy.conftest import ROLE, Run, container
from tests.deploy.test_local_endpoint import nothing_left
from tests.hosting.archives import CALL, body, ensemble, model, packed, values, written
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.files import file_digest

NAME = ("--endpoint", "alone")
PIPE = ensemble("pipe", "a", "b") | model("a", execute="x = x + 1") | model("b", execute="x = x * 2")
HELPER = model("helper", execute="x = x * 10")
CALLING = model("caller", execute=CALL) | HELPER
STEP_CALLS = ensemble("pipe", "a", "b") | model("a", execute="x = x + 1") | model("b", execute=CALL) | HELPER
IMAGE = "--image-uri 123456789012.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver"
OLD = f"{IMAGE}:22.12-py3-cpu --instance ml.m5.xlarge"
NEW = f"{IMAGE}:25.04-py3-cpu"
SET = "--env SAGEMAKER_TRITON"
DECOUPLED = model() | {
    "identity/config.pbtxt": model()["identity/config.pbtxt"] + b"model_transaction_policy { decoupled: true }"
}
AT_ROOT = {name.partition("/")[2]: content for name, content in model().items()}
TWO = PIPE | ensemble("second", "b")


def archive(folder: Path, files: dict[str, bytes], name: str = "model") -> Path:
    path = folder / f"{name}.tar.gz"
    path.write_bytes(packed(files))
    return path


def ask(local: LocalEndpoint, *numbers: float) -> list[float]:
    reply = local.client("sagemaker-runtime").invoke_endpoint(
        EndpointName="alone", ContentType="application/json", Body=body(*numbers)
    )
    return values(reply["Body"].read())


def deployed(run: Run, path: Path, more: str = "") -> Result:
    succeeded(run("upload", path, *NAME, "--single"))
    return run("deploy", path, *NAME, "--role", ROLE, "--single", *more.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "more", "expected"),
    [
        (model("double", execute="x = x * 2"), "", ("double", None, [2, 6])),
        (PIPE, "", ("pipe", None, [4, 8])),
        (CALLING, "", ("caller", "--load-model=helper", [10, 30])),
        (STEP_CALLS, "", ("pipe", "--load-model=helper", [20, 40])),
        (TWO, f"{SET}_DEFAULT_MODEL_NAME=second", ("second", None, [2, 6])),
        (CALLING, f"{SET}_ADDITIONAL_ARGS=--log-info=1", ("caller", "--log-info=1 --load-model=helper", [10, 30])),
    ],
    ids=["one-model", "ensemble", "calls", "step-calls", "several-ensembles", "own-flags"],
)
def test_what_a_single_model_endpoint_takes_answers_without_a_target_model(
    run: Run, local: LocalEndpoint, tmp_path: Path, files: dict[str, bytes], more: str, expected: tuple[object, ...]
) -> None:
    """``expected``: the model that is served, the flags of the server, and an answer."""
    succeeded(deployed(run, archive(tmp_path, files), more))
    described = container(local)
    assert described["Mode"] == "SingleModel"
    assert re.search(r"/alone/model-\w{12}\.tar\.gz$", described["ModelDataUrl"])
    assert "MultiModelConfig" not in described
    variables = described["Environment"]
    flags = variables.get("SAGEMAKER_TRITON_ADDITIONAL_ARGS")
    assert (variables["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"], flags, ask(local, 1, 3)) == expected


def test_it_is_shown_invoked_updated_scaled_and_removed(run: Run, local: LocalEndpoint, tmp_path: Path) -> None:
    first, second = archive(tmp_path, PIPE), archive(tmp_path, STEP_CALLS, "later")
    made = succeeded(deployed(run, first, "--metrics Mine/Triton"))
    assert "the role needs cloudwatch:PutMetricData" in made.output
    variables = container(local)["Environment"]
    assert variables["SAGEMAKER_TRITON_METRIC_NAMESPACE"] == "Mine/Triton"
    assert variables["SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH"] == "true"
    assert "unchanged" in deployed(run, first, "--metrics Mine/Triton").output
    assert "a single-model endpoint: pipe" in run("status", *NAME).output
    request, answer = tmp_path / "request.json", tmp_path / "answer.json"
    request.write_bytes(body(1))
    for names in ((), ("model",)):
        succeeded(run("invoke", *names, *NAME, "--body", request, "--output", answer))
        assert json.loads(answer.read_text())["outputs"][0]["data"] == [4]
    other = run("invoke", "bert_trt", *NAME, "--body", request)
    assert "alone is a single-model endpoint, of model-" in other.output
    assert "updated" in deployed(run, second, "--count 2").output
    assert "AllTraffic: 2 of 2" in run("status", *NAME).output
    assert ask(local, 1) == [20]
    scaled = run("autoscale", *NAME, "--metric", "invocations", "--target-value", "70", "--min", "1", "--max", "2")
    assert scaled.exit_code == 0, scaled.output
    # The policy decides how many instances there are, and nothing is left of what was there before.
    assert "updated" in deployed(run, first, "--count 1").output
    assert "AllTraffic: 2 of 2" in run("status", *NAME).output
    assert container(local)["Environment"]["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"] == "pipe"
    assert len(local.client("sagemaker").list_endpoint_configs()["EndpointConfigs"]) == 1
    assert run("undeploy", *NAME).exit_code == 0
    assert nothing_left(local)


@pytest.mark.parametrize(
    ("files", "options", "words"),
    [
        (AT_ROOT, "", "Incorrect directory structure.*multi-model"),
        (model("a") | model("b"), "", f"any of these may be meant: 'a' and 'b'.*{SET}_DEFAULT_MODEL_NAME=a"),
        (PIPE, f"{SET}_DEFAULT_MODEL_NAME=pip", "'pip', which is not in the archive.*folders: 'a', 'b' and 'pipe'"),
        (model("caller", execute=CALL), "", "calls the model 'helper', which is not in the archive"),
        (PIPE, f"{SET}_LOG_VERBOS=1", "reads no variable .*; did you mean SAGEMAKER_TRITON_LOG_VERBOSE"),
        (PIPE, "--env sagemaker_triton_log_info=1", "did you mean SAGEMAKER_TRITON_LOG_INFO"),
        (PIPE, "--env SAGEMAKER_TRITION_THREAD_COUNT=1", "did you mean SAGEMAKER_TRITON_THREAD_COUNT"),
        (PIPE, f"{SET}_PURPLE=1", "reads no variable .*leave it out"),
        (DECOUPLED, "", f"decoupled.*deploy --single {SET}_INFERENCE_TYPE=generate_stream"),
        (DECOUPLED, f"{NEW} {SET}_INFERENCE_TYPE=generate_stream", "does not contain model-.*upload"),
        (DECOUPLED, f"{NEW} {SET}_INFERENCE_TYPE=stream", "Invalid .*use one of infer, generate"),
        (PIPE, "--env SAGEMAKER_MULTI_MODEL=true", "SageMaker sets SAGEMAKER_MULTI_MODEL"),
        (PIPE, f"{SET}_INFERENCE_TYPE=generate", "no effect in release 24.10: .* since 25.03"),
        (PIPE, f"{OLD} {SET}_ADDITIONAL_ARGS=--x", "no effect in release 22.12: .* since 23.07"),
        (CALLING, OLD, "calls the model 'helper', which is not a step"),
        *(
            (PIPE, f"--metrics={name}", "CloudWatch takes no metrics in the namespace")
            for name in ("AWS/SageMaker", ":mine", "x" * 256, "")
        ),
    ],
)
def test_what_it_cannot_serve_is_one_line_and_leaves_nothing(
    run: Run, local: LocalEndpoint, tmp_path: Path, files: dict[str, bytes], options: str, words: str
) -> None:
    path = archive(tmp_path, files)
    refused = run("deploy", path, *NAME, "--role", ROLE, "--single", *options.split())
    assert refused.exit_code == 1, refused.output
    assert re.search(words, refused.output, re.DOTALL), refused.output
    assert nothing_left(local)


@pytest.mark.slow
def test_an_ensemble_whose_step_calls_is_built_proven_and_served_for_this_mode_alone(
    run: Run, local: LocalEndpoint, tmp_path: Path
) -> None:
    """The step calls the other model by its name, which the build therefore leaves as it is."""
    steps = model("a", execute="x = x + 1") | model("b", execute=CALL) | HELPER
    recipe = {"ensemble.toml": 'description = "calls"\n'}
    written(ensemble("ensemble", "a", "b") | steps | recipe, tmp_path / "ensembles" / "pipe")
    refused = run_in(tmp_path, "build", "pipe")
    assert refused.exit_code == 1 and re.search("sagemaker-bls(?s:.*)deploy --single", refused.output)
    assert not (tmp_path / "dist").exists() or not list((tmp_path / "dist").rglob("*.tar.gz"))
    assert run_in(tmp_path, "check", "pipe", "--run").exit_code == 1
    for words in (
        ("check", "pipe", "--run", "--single"),
        ("build", "pipe", "--single", "--prove"),
        ("upload", "pipe", *NAME, "--single"),
        ("deploy", "pipe", *NAME, "--single", "--role", ROLE),
    ):
        done = run_in(tmp_path, *words)
        assert done.exit_code == 0, f"{words}: {done.output}"
        assert "asking helper" in done.output or words[0] in ("upload", "deploy")
    assert ask(local, 1, 3) == [20, 40]


def test_a_repository_is_packed_for_this_mode_and_proven_in_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(CALLING, tmp_path / "models")
    refused = run("build", "models")
    assert refused.exit_code == 1 and "sagemaker-no-ensemble" in refused.output
    succeeded(run("build", "models", "--single"))
    digest = file_digest(tmp_path / "dist" / "models.tar.gz")
    broken = model("helper", "np.array([]).reshape(3)") | model("caller", "np.array([]).reshape(5)", CALL)
    written(broken, tmp_path / "models")
    failed = run("build", "models", "--single")
    assert failed.exit_code == 1
    for shape in ("(3,)", "(5,)"):  # both are loaded
        assert f"cannot reshape array of size 0 into shape {shape}" in failed.output
    assert file_digest(tmp_path / "dist" / "models.tar.gz") == digest
