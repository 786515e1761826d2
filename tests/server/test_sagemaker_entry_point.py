"""docker/sagemaker/serve turns a container's variables into flags. Every expected value is the script's own output
(r24.10, run with a tritonserver that prints its arguments).
"""

import json
from pathlib import Path

import pytest

from tests.running import sent
from triton_ensembles.server.sagemaker_entry_point import server_command
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.triton.sagemaker_variables import DEFAULT_MODEL, INFERENCE_TYPE, MULTI_MODEL, variables

DEFAULTS = [
    "--allow-sagemaker=true",
    "--allow-http=false",
    "--model-control-mode=explicit",
    "--model-repository=/tmp/sagemaker",
    "--model-namespacing=true",
    "--allow-grpc=false",
    "--allow-metrics=false",
    "--log-verbose=true",
    "--backend-config=python,shm-default-byte-size=16777216",
    "--backend-config=python,shm-growth-byte-size=1048576",
]


def multi_model(**variables: str) -> dict[str, str]:
    return {MULTI_MODEL: "true"} | {f"SAGEMAKER_TRITON_{name}": value for name, value in variables.items()}


def test_a_multi_model_container_without_variables_gets_the_scripts_defaults() -> None:
    made = server_command(multi_model(), Path("/tmp/sagemaker"))
    assert list(made.arguments) == DEFAULTS
    assert made.messages == ('Triton is running in SageMaker MME mode. Using Triton ping mode: "live"',)


@pytest.mark.parametrize(
    ("variable", "value", "flags"),
    [
        ("DISABLE_MODEL_NAMESPACING", "true", ["--model-namespacing=true"]),  # sic
        ("DISABLE_MODEL_NAMESPACING", "false", ["--model-namespacing=false"]),
        ("LOG_VERBOSE", "", ["--log-verbose=true"]),
        ("LOG_INFO", "false --load-model=vae", ["--log-info=false", "--load-model=vae"]),  # AWS's BLS notebook
        ("ADDITIONAL_ARGS", "--a=1 '--b  2'", ["--a=1", "'--b", "2'"]),
    ],
)
def test_a_variable_replaces_the_default_and_is_split(variable: str, value: str, flags: list[str]) -> None:
    made = list(server_command(multi_model(**{variable: value}), Path("/tmp/sagemaker")).arguments)
    assert [flag for flag in made if flag not in DEFAULTS] == [flag for flag in flags if flag not in DEFAULTS]
    assert set(flags) <= set(made)
    names = [flag.rpartition("=")[0] for flag in made if flag.startswith("--")]
    assert len(set(names)) == len(names)  # instead of the default, not in addition


def test_the_ping_mode_reaches_the_server_only_if_the_variable_was_set_before() -> None:
    def ping_mode(**variables: str) -> str | None:
        return server_command(multi_model(**variables), Path("/x")).environment.get("SAGEMAKER_TRITON_PING_MODE")

    assert ping_mode(OVERRIDE_PING_MODE="ready") is None
    assert ping_mode(OVERRIDE_PING_MODE="ready", PING_MODE="x") == "ready"
    assert ping_mode(PING_MODE="x") == "live"


def test_a_single_model_container_loads_its_only_folder_or_the_named_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    made = server_command({MULTI_MODEL: "True"}, tmp_path)  # only "true" counts
    assert made.arguments[-1] == "--load-model=one"
    assert made.environment["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"] == "one"
    assert made.messages[0].startswith("WARNING: No SAGEMAKER_TRITON_DEFAULT_MODEL_NAME provided")
    (tmp_path / "two").mkdir()
    named = server_command({"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "two"}, tmp_path)
    assert named.arguments[-1] == "--load-model=two"
    assert named.messages == ()


RELEASES = json.loads(Path(__file__).with_name("entry_points.json").read_text())
"""What the scripts of r21.08 to r26.05 gave to a tritonserver that prints its arguments: without variables, and besides
with each variable alone (its value, and the flags)."""


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_the_flags_of_its_own_script(release: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    year, month = map(int, release.split("."))

    def flags(**environment: str) -> set[str]:
        made = server_command(environment, tmp_path, (year, month)).arguments
        return {flag for flag in made if not flag.startswith("--model-repository")}

    without, alone = RELEASES[release]["flags"], RELEASES[release]["set"]
    assert flags() == set(without)
    for name in variables():
        value, *added = alone.get(name, ["7" if name not in (DEFAULT_MODEL, INFERENCE_TYPE) else ""])
        assert flags(**{name: value}) - set(without) == set(added), name


def test_the_real_server_takes_the_flag_of_every_variable(tmp_path: Path) -> None:
    """Values that differ from all defaults."""
    (tmp_path / "empty").mkdir()
    numbers = dict.fromkeys((name for name in variables() if name.endswith(("_COUNT", "_VERBOSE"))), "3")
    numbers |= {name: "33554432" for name in variables() if name.endswith("_BYTE_SIZE")}
    switches = {name: "false" for name in variables() if name.endswith(("_INFO", "_WARNING", "_ERROR", "_NAMESPACING"))}
    more = multi_model(ALLOW_GRPC="true", TENSORFLOW_VERSION="2", ADDITIONAL_ARGS="--exit-timeout-secs=5")
    with SageMakerServer(tmp_path / "empty", more | numbers | switches, log=tmp_path / "log") as server:
        flags = {flag.partition("=")[0] for flag in server.command.arguments}
        assert sent(server.sagemaker_url, "GET", "/ping")[0] == 200
    wanted = {variable.flag.partition("=")[0] for variable in variables().values() if variable.flag}
    assert wanted <= {*flags, "--sagemaker-safe-port-range"}
