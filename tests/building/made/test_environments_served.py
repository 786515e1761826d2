"""Both forms of an environment, built and served by the real server."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.ensembles.clients import infer
from tests.files import write_files
from tests.places import built_by
from tests.running import client_of
from tests.wheels import add_wheel
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.environments import steps_that_import
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.variants.written import clone
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import ensemble, io_tensor, python_model, step
from triton_ensembles.checking.fault import Severity
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import CPU, Target, gpu

pytestmark = pytest.mark.slow

IN, OUT = io_tensor("IN", "STRING", "1"), io_tensor("OUT", "STRING", "1")
STEP = python_model("instance_group [ { count: 1 kind: KIND_CPU } ]", inputs=IN, outputs=OUT, size=0)
STEPS = (step("first", {"IN": "IN"}, {"OUT": "T"}), step("second", {"IN": "T"}, {"OUT": "OUT"}))
# Each step adds where it runs; the first also where its package is.
MODEL = """
import json
import sys

import numpy as np
import triton_python_backend_utils as pb_utils
{imports}

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([self.answer(request)]) for request in requests]

    def answer(self, request):
        given = json.loads(pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()[0])
        return pb_utils.Tensor("OUT", np.array([json.dumps([*given, sys.prefix, {value}]).encode()], dtype=object))
"""
RECIPE = """description = "Two Python steps"

[environments.tools]
file = "envs/tools.yml"
steps = ["first", "second"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one ensemble, and a package that no Python of this machine has."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    add_wheel(wheels, "stepwheel")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    files = {
        "ensembles/pair/ensemble/config.pbtxt": ensemble(*STEPS, inputs=IN, outputs=OUT, size=0),
        "ensembles/pair/first/config.pbtxt": STEP,
        "ensembles/pair/first/1/model.py": MODEL.format(imports="import stepwheel\n", value="stepwheel.__file__"),
        "ensembles/pair/second/config.pbtxt": STEP,
        "ensembles/pair/second/1/model.py": MODEL.format(imports="", value="np.__file__"),
        "envs/tools.yml": "name: tools\ndependencies:\n  - numpy==1.26.4\n  - stepwheel==1.0\n",
    }
    return write_files(tmp_path / "project", files)


def built(project: Path, kind: str, target: Target = CPU) -> Built:
    folder = project / "ensembles" / "pair"
    (folder / "ensemble.toml").write_text(RECIPE + (f'kind = "{kind}"\n' if kind else ""))
    return built_by(Places.of(project), "pair", target)


def facts(log: Path, **repositories: Path) -> list[list[str]]:
    """Of each ensemble: prefix and package of the first step, prefix and numpy of the second."""
    with client_of(TritonServer([*repositories.values()], log=log)) as client:
        given = {"IN": np.array([b"[]"], object)}
        return [json.loads(infer(client, name, given)["OUT"][0]) for name in repositories]


def files_of(repository: Path) -> set[str]:
    return {path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file()}


def test_a_folder_is_used_where_it_lies_by_both_steps_and_by_those_of_a_clone(project: Path) -> None:
    """Otherwise each load leaves a copy in /tmp, or new files in a model's folder make Triton load the step again."""
    made = built(project, "")
    before, cloned = files_of(made.repository), project / "cloned"
    (archive,) = clone(made.archive, ["tenant"], project)
    shutil.unpack_archive(archive, cloned, filter="data")
    found = facts(project / "log", pair=made.repository, tenant=cloned)
    places = (made.repository / "pair.first", cloned / "tenant.first")
    for place, (first, package, second, numpy) in zip(places, found, strict=True):
        environment = str(place / "environment")
        assert first == second == environment
        assert package.startswith(environment) and numpy.startswith(environment)
    assert files_of(made.repository) == before
    log = (project / "log").read_text()
    assert log.count("successfully loaded 'pair.first'") == 1, "a clone made the original load again"
    allowed = {"environment-python"}
    assert {fault.rule for fault in check([made.archive, archive]).faults} <= allowed


def test_wheels_lie_beside_the_model_py_that_imports_them(project: Path) -> None:
    """Otherwise steps carry a Python of their own, or packages that they never import."""
    made = built(project, "wheels")
    assert {name for name in files_of(made.repository) if name.startswith("pair.")} == {
        "pair.first/config.pbtxt",
        "pair.first/1/model.py",
        "pair.first/1/stepwheel/__init__.py",
        "pair.first/1/stepwheel/tests/__init__.py",
        "pair.first/1/stepwheel_more.py",
        *(f"pair.first/1/stepwheel-1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "top_level.txt")),
        "pair.second/config.pbtxt",
        "pair.second/1/model.py",
    }
    ((first, package, second, _),) = facts(project / "log", pair=made.repository)
    assert package == str(made.repository / "pair.first" / "1" / "stepwheel" / "__init__.py")
    assert first == second != str(made.repository)
    assert check([made.archive]).faults == ()
    archive = made.archive.read_bytes()
    again = built(project.rename(project.with_name("moved")), "wheels")
    assert again.archive.read_bytes() == archive


@pytest.mark.parametrize(("image", "tag"), [("24.09", "cp310"), ("25.04", "cp312")])
def test_wheels_are_those_of_the_images_python(project: Path, image: str, tag: str) -> None:
    """Otherwise the archive is rehearsed here and does not load in the image."""
    for wheel in ("cp310-cp310-manylinux_2_35_x86_64", "cp312-cp312-manylinux_2_39_x86_64"):
        add_wheel(project.parent / "wheels", "stepfast", tag=wheel)
    (project / "envs" / "tools.yml").write_text("dependencies:\n  - python=3.11\n  - stepwheel==1.0\n  - stepfast\n")
    made = built(project, "wheels", gpu(image))
    text = (made.repository / "pair.first" / "1" / "stepfast-1.0.dist-info" / "WHEEL").read_text()
    assert f"Tag: {tag}-{tag}-" in text
    assert made.manifest["environments"]["tools"]["python"] == f"3.{tag[3:]}"
    assert check([made.archive], Destination("gpu", "ml.g5.xlarge", image)).errors == 0
    other = Destination("gpu", "ml.g5.xlarge", "25.04" if image == "24.09" else "24.09")
    errors = {fault.rule for fault in check([made.archive], other).faults if fault.severity is Severity.ERROR}
    assert "environment-wheels-python" in errors


def test_what_no_wheel_brings_is_refused_with_its_line(project: Path) -> None:
    (project / "envs" / "tools.yml").write_text("dependencies:\n  - numpy=1.26\n  - pip:\n    - no-such-stepwheel==2\n")
    with pytest.raises(EnsembleError, match=r"tools\.yml:4: no wheel brings no-such-stepwheel==2 for Python 3\.\d+"):
        built(project, "wheels")


def test_a_module_of_the_step_is_not_overwritten(project: Path) -> None:
    (project / "ensembles" / "pair" / "first" / "1" / "stepwheel").mkdir()
    (project / "ensembles" / "pair" / "first" / "1" / "stepwheel" / "__init__.py").write_text("MINE = 1\n")
    with pytest.raises(EnsembleError, match=r"first/1/stepwheel: a package of the step's environment has the same"):
        built(project, "wheels")


@pytest.mark.parametrize(
    "code",
    ["import importlib\n", "__import__(name)\n", "def late():\n    from stepwheel import x\n", "not python at all\n"],
)
def test_a_step_that_may_import_a_package_gets_it(project: Path, code: str) -> None:
    """Otherwise a step whose imports are computed fails on the endpoint. (The checker refuses what is not Python.)"""
    folder = project / "ensembles" / "pair"
    (folder / "ensemble.toml").write_text(RECIPE + 'kind = "wheels"\n')
    (folder / "second" / "1" / "helper.py").write_text(code)
    wheels = project / "made"
    (wheels / "stepwheel").mkdir(parents=True)
    plan = plan_build(folder, CPU, project)
    assert steps_that_import(wheels, plan.recipe.environments["tools"], plan, print) == ("first", "second")
