"""Why models do not load: one line for each cause, with the model's name, in the words of the real server."""

from pathlib import Path

import pytest

from tests.hosting.archives import written
from triton_ensembles.checking.examples import IDENTITY, SCALE, ensemble, python_model, step
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.triton_server import TritonServer

pytestmark = pytest.mark.slow

ON_CPU = "instance_group [ { count: 1, kind: KIND_CPU } ]"
CONFIG = python_model(ON_CPU)
RAISES = 'class TritonPythonModel:\n    def initialize(self, args):\n        raise ValueError("no weights\\nhere")\n'
DIES = "import os\n\nos._exit(3)\n"
HANGS = "import time\n\ntime.sleep(1000)\n"

Model = tuple[str, str | None]  # config.pbtxt and 1/model.py
REFUSED: dict[str, tuple[Model, str]] = {
    "syntax": ((f"{CONFIG}nonsense\n", IDENTITY), 'failed to read text proto from {}/syntax/config.pbtxt:7:1: Message type "inference.ModelConfig" has no field named "nonsense"'),  # noqa: E501
    "another": ((f'name: "different"\n{CONFIG}', IDENTITY), "another: unexpected directory name 'another' for model"),
    "policy": ((python_model("version_policy { specific { versions: [ 7 ] } }"), IDENTITY), "policy: at least one version must be available"),  # noqa: E501
    "gpu": ((python_model("instance_group [ { kind: KIND_GPU } ]"), IDENTITY), "gpu: Invalid argument: instance group gpu_0 of model gpu has kind KIND_GPU"),  # noqa: E501
    "backend": ((python_model(ON_CPU, backend='backend: "nope"'), IDENTITY), "backend: Invalid argument: unable to find backend library for backend 'nope'"),  # noqa: E501
    "raises": ((CONFIG, RAISES), "raises: Internal: ValueError: no weights here"),
    "imports": ((CONFIG, "import not_there\n"), "imports: Internal: ModuleNotFoundError: No module named 'not_there'"),
    "dies": ((CONFIG, DIES), "dies: Internal: Stub process 'dies_0_0' is not healthy"),
    "missing": ((ensemble(step("nothing", {"X": "X"}, {"Y": "Y"})), None), "ensemble missing contains models that are not available or ambiguous: nothing"),  # noqa: E501
    "unmapped": ((ensemble(step("scale", {"Z": "X"}, {"Y": "Y"})), None), "in ensemble unmapped, ensemble tensor X is mapping to non-existing input Z"),  # noqa: E501
    "circle-a": ((ensemble(step("circle-b", {"X": "X"}, {"Y": "Y"})), None), "circular dependency between ensembles: circle-a"),  # noqa: E501
}  # fmt: skip
# They fail only because others do.
FOLLOWING = {
    "circle-b": (ensemble(step("circle-a", {"X": "X"}, {"Y": "Y"})), None),
    "of-raises": (ensemble(step("raises", {"X": "X"}, {"Y": "Y"})), None),
    "of-syntax": (ensemble(step("syntax", {"X": "X"}, {"Y": "Y"})), None),
    "of-those": (ensemble(step("of-raises", {"X": "X"}, {"Y": "Y"})), None),
}
GOOD = {"scale": (CONFIG, IDENTITY), "fine": (ensemble(SCALE), None)}


def repository(folder: Path, models: dict[str, Model]) -> Path:
    for name, (config, code) in models.items():
        written({"config.pbtxt": config} | ({} if code is None else {"1/model.py": code}), folder / name)
        (folder / name / "1").mkdir(exist_ok=True)
    return folder


def refusal(*repositories: Path, arguments: tuple[str, ...] = (), seconds: float = 300) -> list[str]:
    """The lines of the error: the first says that the server did not start."""
    with (
        pytest.raises(EnsembleError) as refused,
        TritonServer(repositories, arguments=arguments, completes=False, ready_seconds=seconds),
    ):
        pass
    return refused.value.message.splitlines()


def test_each_cause_is_one_line_with_the_models_name(tmp_path: Path) -> None:
    """Otherwise all that people read is: failed to load all models."""
    models = {name: model for name, (model, _) in REFUSED.items()}
    first, *lines = refusal(repository(tmp_path, {**models, **FOLLOWING, **GOOD}))
    assert first == "tritonserver stopped while it loaded:"
    for _, words in REFUSED.values():
        assert sum(words.format(tmp_path) in line for line in lines) == 1, (words, lines)
    assert len(lines) == len(REFUSED)


def test_a_model_that_two_repositories_have_is_named(tmp_path: Path) -> None:
    folders = [repository(tmp_path / name, {"twice": (CONFIG, IDENTITY)}) for name in ("a", "b")]
    reason = "tritonserver stopped while it loaded: twice: not unique across all model repositories"
    assert refusal(*folders) == [reason]
    explicit = ("--model-control-mode=explicit", "--load-model=twice")
    assert refusal(*folders, arguments=explicit) == [reason]


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    explicit = ("--model-control-mode=explicit", "--load-model=absent", "--load-model=scale")
    assert refusal(repository(tmp_path, GOOD), arguments=explicit) == [
        "tritonserver stopped while it loaded: absent: model not found in any model repository"
    ]


def test_an_exception_that_ends_the_server_is_named(tmp_path: Path) -> None:
    """Otherwise the last line of the log is all that people get."""
    (repository(tmp_path, {"scale": (CONFIG, IDENTITY)}) / "scale" / "20260101000000000000").mkdir()
    (line,) = refusal(tmp_path)
    assert line == "tritonserver stopped while it loaded: it crashed with std::out_of_range: stoll"


def test_a_load_that_takes_too_long_is_named(tmp_path: Path) -> None:
    """Otherwise people learn only that it took too long."""
    (line,) = refusal(repository(tmp_path, {"hangs": (CONFIG, HANGS)}), seconds=20)
    assert line == "tritonserver was not ready after 20 s; it still loaded: hangs"


def test_a_process_that_ends_while_its_config_is_completed_is_named(tmp_path: Path) -> None:
    """Otherwise people wait five minutes for a package that crashes when it is imported, and read no reason."""
    models = repository(tmp_path, {"dies": (CONFIG, DIES), **GOOD})
    with pytest.raises(EnsembleError) as refused:
        TritonServer(models).start()
    (line,) = refused.value.message.splitlines()
    said = "dies: its Python process ended, by a crash or an exit, while model.py was imported"
    assert line == f"tritonserver waits for ever for a model: {said}"


def test_a_load_that_will_never_end_is_refused_at_once(tmp_path: Path) -> None:
    """Otherwise people wait five minutes for what Triton has logged after a moment."""
    (line,) = refusal(repository(tmp_path, {"hangs": (CONFIG, None)}))
    missing = f"hangs: Python model file not found in '{tmp_path}/hangs/1/model.py'"
    assert line == f"tritonserver waits for ever for a model: {missing}"
