"""`new NAME --from …`: repositories as people have them are built and answer; what is missing is said."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.packing import Content
from tests.commands.projects import run_in
from tests.files import write_files
from tests.running import serving
from tests.starter.repositories import LABEL, TEXT, X, write_ensemble, write_network, write_repository, write_step
from triton_ensembles.archive.manifest import FACTS
from triton_ensembles.building.build import build
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.checking.python.examples import router
from triton_ensembles.checking.staging_example import stage as stage_example
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import CONFIG, read_config
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.targets import CPU, fused

PICTURE = ("IMAGE", "UINT8", "-1")
_ENVIRONMENT = 'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "$$TRITON_MODEL_DIRECTORY/{}" }} }}\n'


def plain(folder: Path) -> Path:
    """A repository beside the code of a client."""
    write_repository(folder / "deploy" / "model_repository")
    readme = "deploy/model_repository/README.md"
    return write_files(folder, {readme: "how to deploy", "client/client.py": "import tritonclient"})


def archive(folder: Path) -> Path:
    write_repository(folder / "models")
    subprocess.run(["tar", "-C", folder / "models", "-czf", folder / "model.tar.gz", "."], check=True)
    return folder / "model.tar.gz"


def links(folder: Path) -> Path:
    """Weights and a step are elsewhere, written on Windows."""
    write_repository(folder / "models")
    for moved in ("net/1/model.onnx", "post"):
        place = folder / "models" / moved
        place.rename(folder / place.name)
        place.symlink_to(folder / place.name)
    for path in [*folder.rglob("*.py"), *folder.rglob(CONFIG)]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return folder


def network(folder: Path) -> Path:
    """A single model, whose file says all."""
    write_network(folder / "models" / "net" / "3" / "model.onnx")
    return folder


def pictures(folder: Path) -> Path:
    """A Python step with a package that requirements.txt pins."""
    picture = "Image.open(io.BytesIO(row.tobytes())).resize((2, 2)).convert('L')"
    answer = f"np.stack([np.asarray({picture}, np.float32).ravel() for row in x])"
    write_step(folder / "models" / "decode", PICTURE, X, answer, imports="import io\nfrom PIL import Image\n")
    write_ensemble(folder / "models" / "decoder", PICTURE, X, "decode IMAGE X")
    pins = "# also of the client\ntritonclient[all]\npillow==11.0.0  # the newest then\n-r more.txt\n"
    return write_files(folder, {"requirements.txt": pins})


def one_of_several(folder: Path) -> Path:
    write_repository(folder / "models")
    write_ensemble(folder / "models" / "lengths", TEXT, X, "pre TEXT X")
    return folder / "models"


REPOSITORIES: dict[str, tuple[Callable[[Path], Path], list[str]]] = {
    "plain": (plain, []),
    "archive": (archive, []),
    "links": (links, []),
    "network": (network, []),
    "pictures": (pictures, []),
    "several": (one_of_several, ["--model", "lengths"]),
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
    built = [build(BuildRequest(places.ensembles / name, CPU, places), print) for name in REPOSITORIES]
    assert {packed.manifest["weights"] for packed in built if packed.name != "pictures"} == {"provided"}
    one_by_one = ["--model-control-mode=explicit"]  # many Python steps at once are too much for a busy machine
    with (
        serving(
            TritonServer([packed.repository for packed in built], log=tmp_path / "log", arguments=one_by_one)
        ) as server,
        http_client(server, network_timeout=300, connection_timeout=300) as client,
    ):
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
        "/model_repository",
        "assumed: pipeline is the ensemble; its steps are pre, net and post",
        "assumed: left out, for they are no models: README.md",
        "assumed: pipeline/examples/made_up.json is a request that was made up from config.pbtxt: replace it by a "
        "real one",
    ]
    assert last.endswith("ensembles/plain is ready: build.py demo plain")
    assert "assumed: left out, for no step needs them: net, pipeline and post" in said(project, "several")
    assert any(
        re.match(r"assumed: envs/pictures\.yml has the packages of .*requirements.txt: .*pillow==11\.0\.0", line)
        for line in said(project, "pictures")
    )


def test_the_model_that_calls_the_others_is_the_entrance_of_a_fused_form(tmp_path: Path) -> None:
    """Otherwise a router has no way to an endpoint."""
    stage_example(router(), tmp_path / "models", "router")
    (tmp_path / "project").mkdir()
    lines = run_in(tmp_path / "project", "new", "routed", "--from", tmp_path / "models").output.splitlines()
    assert any("router calls scaler (BLS)" in line for line in lines)
    plan = plan_build(tmp_path / "project" / "ensembles" / "routed", fused())
    assert [step.name for step in fuse(plan).steps] == ["router"]
    assert [(model.name, model.version) for model in fuse(plan).called] == [("scaler", "1")]
    assert '\ntarget = "fused"' in (tmp_path / "project" / "pyproject.toml").read_text()


def test_an_ensemble_of_an_ensemble_brings_the_models_of_both(tmp_path: Path) -> None:
    """Otherwise one has to be written into the other."""
    write_repository(tmp_path / "models")
    write_ensemble(tmp_path / "models" / "outer", TEXT, LABEL, "pipeline TEXT LABEL")
    (tmp_path / "project").mkdir()
    run_in(tmp_path / "project", "new", "both", "--from", tmp_path / "models")
    fusion = fuse(plan_build(tmp_path / "project" / "ensembles" / "both", fused()))
    assert [step.name for step in fusion.steps] == ["pipeline"]
    assert sorted(model.name for model in fusion.called) == ["net", "post", "pre"]


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
    models = tmp_path / "models"
    write_repository(models, more=_ENVIRONMENT.format("../env.tar.gz"))
    config = (models / "post" / CONFIG).read_text().replace("../env.tar.gz", "../pre/venv")
    write_files(models, {"env.tar.gz": "packed", "pre/venv/bin/activate": "", f"post/{CONFIG}": config})
    project = empty_project(tmp_path)
    result = run_in(project, "new", "x", "--from", models)
    named = "assumed: pre runs in the environment that its config.pbtxt names: $$TRITON_MODEL_DIRECTORY/../env.tar.gz"
    assert named in result.stdout
    plan = plan_build(project / "ensembles" / "x", CPU)
    stage(plan, tmp_path / "staged", artifacts={}, environments={})
    assert (tmp_path / "staged" / "env.tar.gz").read_text() == "packed"
    for step, place in (("pre", "../env.tar.gz"), ("post", "../x.pre/venv")):
        parameters = read_config(tmp_path / "staged" / f"x.{step}" / CONFIG).parameters
        assert parameters["EXECUTION_ENV_PATH"].string_value == f"$$TRITON_MODEL_DIRECTORY/{place}"
    assert (tmp_path / "staged" / "x.pre" / "venv" / "bin" / "activate").is_file()


def test_what_is_missing_is_one_line_each(tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_repository(models, imports="import unknown_module\n")
    (models / "net" / "1" / "model.onnx").unlink()
    shutil.rmtree(models / "post" / "1")
    result = run_in(empty_project(tmp_path), "new", "x", "--from", models)
    assert result.exit_code == 0
    left = [line.removeprefix("left to do: ") for line in result.stdout.splitlines() if line.startswith("left to do")]
    assert len(left) == 3
    assert "ensembles/x/net/1: version 1 has no model.onnx" in left[0]
    assert "ensembles/x/post: there is no version folder; make a folder 1/" in left[1]
    assert f"ensembles/x/pre/1/model.py:3:1: Python {server_python()} has no module 'unknown_module'" in left[2]
    assert "partial" not in result.stdout
    assert "is imported; do what is left, then: build.py build x --prove" in result.stdout


def _two_models(folder: Path) -> Path:
    write_network(folder / "a" / "1" / "model.onnx")
    write_network(folder / "b" / "1" / "model.onnx")
    return folder


def _text_file(folder: Path) -> Path:
    return write_files(folder, {"model.zip": "PK"}) / "model.zip"


def _built(folder: Path) -> Path:
    write_files(folder, {"models/manifest.json": json.dumps(dict.fromkeys(FACTS))})
    return archive(folder)


def _two_repositories(folder: Path) -> Path:
    write_repository(folder / "cpu")
    write_repository(folder / "gpu")
    return folder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ({".": None}, "there is no model here: neither in this folder nor below it is a config.pbtxt; name the folder"),
        (_two_models, "none of the 2 models here is an ensemble: 'a' and 'b'; choose the one that becomes"),
        (one_of_several, "there are 2 ensembles here: 'lengths' and 'pipeline'; choose one: --model lengths"),
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
