"""`new NAME --from …`: repositories as people have them are built and answer; what is missing is said."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.packing import Content
from tests.commands.projects import run_in
from tests.configs import in_a_row, tensors
from tests.files import write_files
from tests.onnx_files import write_network
from tests.places import built_by
from tests.repositories import pack
from tests.running import serving
from tests.strangers.networks import copy_of
from triton_ensembles.archive.manifest import FACTS
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import CONFIG, read_config
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.targets import CPU, fused

_ENVIRONMENT = 'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "$$TRITON_MODEL_DIRECTORY/{}" }} }}\n'
_GPU = "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] } ]\n"


def plain(folder: Path) -> Path:
    """A repository for a GPU, beside the code of a client."""
    with (copy_of("sentiment", folder / "deploy") / "classifier" / CONFIG).open("a") as config:
        config.write(_GPU)
    readme = "deploy/sentiment/README.md"
    return write_files(folder, {readme: "how to deploy", "client/client.py": "import tritonclient"})


def archive(folder: Path) -> Path:
    return pack(copy_of("branches", folder), folder / "model.tar.gz")


def links(folder: Path) -> Path:
    """Weights and a step are elsewhere, written on Windows."""
    models = copy_of("sentiment", folder)
    for moved in ("classifier/1/model.onnx", "labels"):
        place = models / moved
        place.rename(folder / place.name)
        place.symlink_to(folder / place.name)
    for path in [*folder.rglob("*.py"), *folder.rglob(CONFIG)]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return models


def network(folder: Path) -> Path:
    """A single model, whose file says all."""
    write_network(folder / "models" / "net" / "3" / "model.onnx")
    return folder


def with_ensemble(models: Path, name: str, step: str, output: str) -> Path:
    """A repository with one more ensemble of texts, of one step."""
    text = f"{in_a_row(step, taken='TEXT', written=output.partition(':')[0])}max_batch_size: 8\n"
    return write_files(models, {f"{name}/{CONFIG}": text + tensors("TEXT:STRING:1", output), f"{name}/1": None})


def one_of_several(folder: Path) -> Path:
    return with_ensemble(copy_of("sentiment", folder), "ids", "tokenizer TEXT input_ids", "IDS:INT64:-1")


REPOSITORIES: dict[str, tuple[Callable[[Path], Path], list[str]]] = {
    "plain": (plain, []),
    "archive": (archive, []),
    "links": (links, []),
    "network": (network, []),
    "several": (one_of_several, ["--model", "ids"]),
}


def empty_project(folder: Path) -> Path:
    (folder / "project" / "ensembles").mkdir(parents=True)
    return folder / "project"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has taken all of REPOSITORIES in; `said.txt` in it has what was said of each."""
    project = empty_project(tmp_path_factory.mktemp("from"))
    for name, (make, options) in REPOSITORIES.items():
        source = make(tmp_path_factory.mktemp(name))
        result = run_in(project, "new", name, "--from", source, *options)
        assert result.exit_code == 0, result.output
        (project / f"{name}.txt").write_text(result.stdout)
        shutil.rmtree(source if source.is_dir() else source.parent)  # nothing of it is needed any more
    return project


def said(project: Path, name: str) -> list[str]:
    return (project / f"{name}.txt").read_text().splitlines()


def test_each_is_built_served_and_answers_its_example(project: Path, tmp_path: Path) -> None:
    assert run_in(project, "check", "--strict").exit_code == 0
    places = Places.of(project)
    built = [built_by(places, name) for name in REPOSITORIES]
    assert {packed.manifest["weights"] for packed in built} == {"provided"}
    one_by_one = ["--model-control-mode=explicit"]  # many Python steps at once are too much for a busy machine
    server = TritonServer([packed.repository for packed in built], log=tmp_path / "log", arguments=one_by_one)
    with serving(server), http_client(server, network_timeout=300, connection_timeout=300) as client:
        for packed in built:
            for model in sorted((path.parent.name for path in packed.repository.glob(f"*/{CONFIG}")), reverse=True):
                client.load_model(model)
            (request,) = read_examples(places.ensembles / packed.name).requests
            result = client.infer(packed.name, request.infer_inputs())
            for tensor in client.get_model_metadata(packed.name)["outputs"]:
                assert result.as_numpy(tensor["name"]) is not None


def test_what_was_assumed_is_said_line_by_line(project: Path) -> None:
    *lines, last = said(project, "plain")
    assert [line.partition("/deploy")[2] or line for line in lines] == [
        "/sentiment",
        "assumed: sentiment is the ensemble; its steps are tokenizer, classifier and labels",
        "assumed: classifier/config.pbtxt: input, output added, as the model's file has it",
        "assumed: left out, for they are no models: README.md",
        "assumed: sentiment/examples/made_up.json is a request that was made up from config.pbtxt: replace it by a "
        "real one",
    ]
    assert last.endswith("ensembles/plain is ready: build.py demo plain")
    assert "assumed: left out, for no step needs them: classifier, labels and sentiment" in said(project, "several")


def test_the_model_that_calls_the_others_is_the_entrance_of_a_fused_form(tmp_path: Path) -> None:
    """Otherwise a router has no way to an endpoint. Its answers: tests/strangers."""
    (tmp_path / "project").mkdir()
    result = run_in(tmp_path / "project", "new", "routed", "--from", copy_of("bls", tmp_path))
    assert "router calls bls_tokenizer, classifier_long and classifier_short (BLS)" in result.output
    assert '\ntarget = "fused"' in (tmp_path / "project" / "pyproject.toml").read_text()


def test_an_ensemble_of_an_ensemble_brings_the_models_of_both(tmp_path: Path) -> None:
    """Otherwise one has to be written into the other."""
    models = with_ensemble(copy_of("sentiment", tmp_path), "outer", "sentiment TEXT LABEL", "LABEL:STRING:1")
    project = empty_project(tmp_path)
    assert run_in(project, "new", "both", "--from", models).exit_code == 0
    fusion = fuse(plan_build(project / "ensembles" / "both", fused()))
    assert [step.name for step in fusion.steps] == ["sentiment"]
    assert sorted(model.name for model in fusion.called) == ["classifier", "labels", "tokenizer"]


def test_a_single_model_becomes_an_ensemble_of_one_step_with_the_tensors_of_its_file(project: Path) -> None:
    folder = project / "ensembles" / "network"
    config = read_config(folder / "ensemble" / CONFIG)
    assert [(tensor.name, list(tensor.dims)) for tensor in (*config.input, *config.output)] == [("X", [4]), ("Y", [3])]
    assert read_config(folder / "net" / CONFIG).backend == "onnxruntime"
    assumed = "assumed: net is a single model: it is the only step of a new ensemble with the same tensors"
    assert assumed in said(project, "network")
    test = (project / "tests" / "test_network.py").read_text()
    assert '"ensembles" / "network"' in test and "triton_server" in test


def test_environments_beside_the_models_are_packed_under_the_new_names(tmp_path: Path) -> None:
    models = copy_of("sentiment", tmp_path)
    places = {"tokenizer": "../env.tar.gz", "labels": "../tokenizer/venv"}
    for step, place in places.items():
        with (models / step / CONFIG).open("a") as config:
            config.write(_ENVIRONMENT.format(place))
    write_files(models, {"env.tar.gz": "packed", "tokenizer/venv/bin/activate": ""})
    project = empty_project(tmp_path)
    result = run_in(project, "new", "x", "--from", models)
    named = "tokenizer runs in the environment that its config.pbtxt names: $$TRITON_MODEL_DIRECTORY/../env.tar.gz"
    assert f"assumed: {named}" in result.stdout
    stage(plan_build(project / "ensembles" / "x", CPU), tmp_path / "staged", artifacts={}, environments={})
    assert (tmp_path / "staged" / "env.tar.gz").read_text() == "packed"
    for step, place in places.items():
        parameters = read_config(tmp_path / "staged" / f"x.{step}" / CONFIG).parameters
        renamed = place.replace("tokenizer", "x.tokenizer")
        assert parameters["EXECUTION_ENV_PATH"].string_value == f"$$TRITON_MODEL_DIRECTORY/{renamed}"
    assert (tmp_path / "staged" / "x.tokenizer" / "venv" / "bin" / "activate").is_file()


def test_what_is_missing_is_one_line_each(tmp_path: Path) -> None:
    models = copy_of("branches", tmp_path)
    step = models / "scale" / "1" / "model.py"
    step.write_text(f"import unknown_module\n{step.read_text()}")
    (models / "tree" / "1" / "model.onnx").unlink()
    shutil.rmtree(models / "join" / "1")
    result = run_in(empty_project(tmp_path), "new", "x", "--from", models)
    assert result.exit_code == 0
    left = [line.removeprefix("left to do: ") for line in result.stdout.splitlines() if line.startswith("left to do")]
    assert len(left) == 3
    assert "ensembles/x/join: there is no version folder; make a folder 1/" in left[0]
    assert f"ensembles/x/scale/1/model.py:1:1: Python {server_python()} has no module 'unknown_module'" in left[1]
    assert "ensembles/x/tree/1: version 1 has no model.onnx" in left[2]
    assert "partial" not in result.stdout
    assert "is imported; do what is left, then: build.py build x --prove" in result.stdout


def _two_models(folder: Path) -> Path:
    write_network(folder / "a" / "1" / "model.onnx")
    write_network(folder / "b" / "1" / "model.onnx")
    return folder


def _text_file(folder: Path) -> Path:
    return write_files(folder, {"model.zip": "PK"}) / "model.zip"


def _built(folder: Path) -> Path:
    models = write_files(copy_of("sentiment", folder), {"manifest.json": json.dumps(dict.fromkeys(FACTS))})
    return pack(models, folder / "model.tar.gz")


def _two_repositories(folder: Path) -> Path:
    for device in ("cpu", "gpu"):
        copy_of("sentiment", folder / device)
    return folder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ({".": None}, "there is no model here: neither in this folder nor below it is a config.pbtxt; name the folder"),
        (_two_models, "none of the 2 models here is an ensemble: 'a' and 'b'; choose the one that becomes"),
        (one_of_several, "there are 2 ensembles here: 'ids' and 'sentiment'; choose one: --model ids"),
        (
            {"a/1/model.py": "", f"a/{CONFIG}": 'backend: "python"'},
            "'a' is no ensemble, and its config.pbtxt has no input and output",
        ),
        (
            {f"a/{CONFIG}": 'platform: "ensemble"\nmax_batch_size: ${size}\n'},
            "config.pbtxt:2: 'max_batch_size: ${size}': Couldn't parse integer",
        ),
        (_text_file, "model.zip: "),
        (_built, "this archive was built from a recipe, and holds what the build made; import the repository"),
        (_two_repositories, "there are 2 model repositories here: "),
    ],
)
def test_what_cannot_be_imported_is_refused(
    tmp_path: Path, make: Callable[[Path], Path] | dict[str, Content], message: str
) -> None:
    """In one line, and nothing is written."""
    project, folder = empty_project(tmp_path), tmp_path / "source"
    source = write_files(folder, make) if isinstance(make, dict) else make(folder)
    result = run_in(project, "new", "x", "--from", source)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert message in line and "; " in line
    assert [path.name for path in project.rglob("*")] == ["ensembles"]
