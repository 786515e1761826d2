"""Packages that a repository declares, beside the model.py of its steps: served by the real server, and packed."""

import re
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from click.testing import CliRunner

from tests.processes import wait_until
from tests.repositories import model_py, write_ensemble, write_step
from tests.running import client_of
from tests.wheels import add_wheel
from triton_ensembles.building.build import build
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.commands.profile import profile
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.project.declared import NOTHING, Asked
from triton_ensembles.server.bare_python import bare_python
from triton_ensembles.server.home import find_home
from triton_ensembles.server.stubs import require_interpreter
from triton_ensembles.serving.served import Served, as_written, served, server_of
from triton_ensembles.serving.watching.source import watched_source
from triton_ensembles.serving.watching.watch import EXPLICIT_MODE, Watch, Watched
from triton_ensembles.starter.implied import implied
from triton_ensembles.triton.destination import SingleModel
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.targets import fused


@pytest.fixture(autouse=True, scope="module")
def bare() -> None:
    # From the index, unlike the rest.
    bare_python(require_interpreter(server_python()), find_home().folder.parent, print)


def package(index: Path, name: str, code: str, version: str = "1.0", requires: str = "") -> None:
    add_wheel(index, name, version, requires=requires, code=code)


@pytest.fixture
def models(wheel_index: Path, tmp_path: Path) -> Path:
    """A chain of two steps that import a package each, which are declared for the repository."""
    package(wheel_index, "ninefold", "import numpy\nfrom nothing_but_nine import NINE\n", requires="nothing_but_nine")
    package(wheel_index, "nothing_but_nine", "NINE = 9\n")
    for version in ("2.0", "3.0"):
        package(wheel_index, "factor", f"FACTOR = {version}\n", version)
    models = tmp_path / "models"
    for step, line in (("first", "from ninefold import NINE as FACTOR"), ("second", "from factor import FACTOR")):
        write_step(models, step)
        (models / step / "1" / "model.py").write_text(f"{line}\n{model_py(1).replace('* 1', '* FACTOR')}")
    write_ensemble(models, "both", ("first", "second"))
    write_step(models, "plain")
    declare(models, "ninefold", "factor<3")
    return models


def declare(folder: Path, *lines: str) -> None:
    """With a place of the packages that no other run has, so that they are made."""
    index = next(path / "index" for path in folder.parents if (path / "index").is_dir())
    (folder / "requirements.txt").write_text("\n".join([f"--find-links {index}", *lines, ""]))


def fused_request(models: Path, proof: Proof = Proof.NONE, asked: Asked = NOTHING) -> BuildRequest:
    """For an archive in ``dist`` beside the models."""
    folder = models.parent
    (scratch := folder / "scratch").mkdir()
    places = Places(folder, folder / "build", folder / "dist")
    return implied(BuildRequest(models, fused(), places, proof=proof), scratch, print, asked)


def answers(found: Served, *models: str) -> list[float]:
    with client_of(server_of([found])) as client:
        return [asked(client, model) for model in models]


def asked(client: http.InferenceServerClient, model: str) -> float:
    given = http.InferInput("X", [1, 2], "FP32").set_data_from_numpy(np.array([[1, 10]], np.float32))
    values = client.infer(model, [given]).as_numpy("Y")
    assert values is not None
    return float(values[0][0])


def test_the_steps_have_what_the_repository_declares_and_its_files_are_left_alone(models: Path, tmp_path: Path) -> None:
    before, said = sorted(models.rglob("*")), list[str]()
    found = served(models, tmp_path, said.append)
    assert answers(found, "both", "plain") == [18, 3]
    (line,) = [line for line in said if " beside " in line]
    assert re.fullmatch(
        r".*requirements\.txt: factor 2\.0 and ninefold 1\.0 and 1 that they require \(\d MB\) beside first and second",
        line,
    )
    said.clear()
    served(models, tmp_path, said.append)
    assert not any("unpacking" in line for line in said)
    assert sorted(models.rglob("*")) == before


def test_what_is_packed_is_what_was_served_and_proven(models: Path, tmp_path: Path) -> None:
    request = as_written(
        served(models, tmp_path), Places(tmp_path, tmp_path / "build", tmp_path / "dist"), Proof.ANSWERS
    )
    first = build(request, print)
    assert served(models, tmp_path, single=SingleModel()).models, "links to packages are none in the archive"
    with tarfile.open(first.archive) as archive:
        names = archive.getnames()
    assert {"first/1/ninefold/__init__.py", "first/1/nothing_but_nine/__init__.py"} <= {*names}
    assert not any(name.startswith("plain/1/ninefold") or "__pycache__" in name for name in names)
    assert answers(served(first.archive, tmp_path), "both") == [18]
    assert not build(request, print).changed


def test_a_numpy_that_the_steps_do_not_get_is_said_although_they_need_nothing_else(
    models: Path, tmp_path: Path
) -> None:
    """Otherwise `numpy>=2` is declared, and the steps run on 1.26 without a word."""
    said = list[str]()
    (models / "second" / "1" / "model.py").write_text(model_py(1))
    declare(models / "second", "numpy>=2")
    served(models / "second", tmp_path, said.append)
    assert any(
        re.search(r"second/requirements\.txt: numpy>=2 is left out, since the steps get numpy 1\.", line)
        for line in said
    )


def test_an_error_of_a_fused_build_names_the_file_of_the_user(models: Path) -> None:
    """The environment file that was written for the build is gone when the message is read."""
    declare(models, "ninefold", "factor==4.0")
    with pytest.raises(EnsembleError, match=r"no wheel brings factor==4\.0") as refused:
        build(fused_request(models), print)
    assert refused.value.path == models / "requirements.txt"
    assert not (models.parent / "dist").exists()


def test_two_versions_for_a_fused_build_are_named_by_the_file_of_the_user(models: Path) -> None:
    declare(models / "first", "ninefold", "factor==2.0")
    declare(models / "second", "factor==3.0")
    with pytest.raises(EnsembleError) as refused:
        build(fused_request(models), print)
    assert f"{shown(models)}/second/requirements.txt: error[fused-environments]: second needs" in str(refused.value)


def test_a_fused_build_takes_packages_that_the_command_line_alone_names(models: Path) -> None:
    assert fused_request(models, asked=Asked((), ("ninefold", "factor"))).name == "models"


def test_a_library_of_the_system_is_named_before_a_fused_archive_is_packed(models: Path, wheel_index: Path) -> None:
    """Otherwise the server says it after minutes of packing, without a line of model.py."""
    add_wheel(wheel_index, "numpy", "1.26.4")  # the fused ensemble brings its own
    package(wheel_index, "factor", "raise ImportError('libGL.so.1: cannot open shared object file')", "9.0")
    declare(models, "ninefold", "factor")
    said = list[str]()
    with pytest.raises(EnsembleError, match=r"factor is installed, and .*; it needs libGL\.so\.1") as refused:
        build(fused_request(models, Proof.LOADS), said.append)
    assert (refused.value.path, refused.value.line) == (models / "second" / "1" / "model.py", 1)
    assert not any(line.startswith("packing") for line in said) and not (models.parent / "dist").exists()


def test_one_model_has_them_too_and_a_step_may_declare_its_own(models: Path, tmp_path: Path) -> None:
    declare(models / "second", "factor>=3")
    assert answers(served(models, tmp_path), "first", "second") == [9, 3]
    assert answers(served(models / "both", tmp_path), "both") == [27]


def test_the_command_line_comes_before_what_is_found(models: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    declare(other, "factor==3.0")
    assert answers(served(models / "second", tmp_path, asked=Asked((other / "requirements.txt",))), "second") == [3]
    (models / "second" / "1" / "model.py").write_text("import ninefold, factor\n" + model_py(7))
    only = Asked((other / "requirements.txt",), ("ninefold",))
    assert answers(served(models / "second", tmp_path, asked=only), "second") == [7]


def test_a_module_of_the_step_comes_before_a_package_of_its_name(models: Path, tmp_path: Path) -> None:
    (models / "first" / "1" / "nothing_but_nine.py").write_text("NINE = 5")
    assert answers(served(models, tmp_path), "first") == [5]


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        (["no-such-package"], "", r"requirements\.txt: no wheel brings no-such-package for Python 3"),
        (
            ["factor==4.0"],
            "",
            r"no wheel brings factor==4\.0 .*; ask for a version that has one: the newest are 2\.0 and",
        ),
        (["newer"], "", r"these requirements contradict each other: newer 1.0 depends on numpy>=2"),
        (
            ["factor"],
            "raise ImportError('libGL.so.1: cannot open shared object file')",
            r"it needs libGL\.so\.1 of the system, which",
        ),
        (["factor"], "raise OSError('sndfile library not found')", "it needs libsndfile of the system"),
        (
            ["factor"],
            "raise ImportError('libcuda.so.1: cannot open shared object file')",
            "it needs a GPU and NVIDIA's",
        ),
        (["factor"], "import os; os._exit(3)", r"second/1/model\.py:1: factor is installed from .* cannot be imported"),
        (["ninefold"], "", r"second/1/model\.py:1: nothing that .* installs has a module 'factor'; write factor into"),
    ],
)
def test_what_cannot_be_is_one_sentence_with_its_place(
    lines: list[str], code: str, says: str, models: Path, wheel_index: Path, tmp_path: Path
) -> None:
    add_wheel(wheel_index, "numpy", "2.1.0")
    package(wheel_index, "newer", "", requires="numpy>=2")
    if code:
        package(wheel_index, "factor", code, "9.0")
    declare(models, *lines)
    with pytest.raises(EnsembleError) as refused:
        served(models / "second", tmp_path)
    assert re.search(says, str(refused.value)), str(refused.value)


def test_a_profile_is_of_the_packages_that_its_command_line_names(models: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("ninefold\n")
    options = ("--requirements", str(tmp_path / "mine.txt"), "--output", str(tmp_path / "profiles"))
    refused = CliRunner().invoke(profile, [str(models / "second"), *options]).exception
    assert re.search(r"a module 'factor'; write factor into .*mine\.txt", str(refused)), refused


def test_a_library_that_was_installed_since_is_found(models: Path, wheel_index: Path, tmp_path: Path) -> None:
    """What failed is kept with the packages, which are unpacked once."""
    library = tmp_path / "libGL.so.1"
    code = f"if not __import__('os').path.exists({str(library)!r}): raise OSError('library GL not found')\nFACTOR = 2"
    package(wheel_index, "factor", code, "9.0")
    declare(models, "ninefold", "factor")
    with pytest.raises(EnsembleError, match="and cannot be imported"):
        served(models / "second", tmp_path)
    library.touch()
    assert served(models / "second", tmp_path).models == ("second",)


def test_packages_are_chosen_for_the_numpy_of_the_steps_not_for_one_that_they_do_not_get(
    models: Path, wheel_index: Path, tmp_path: Path
) -> None:
    """A requirements.txt of `pip freeze` names a numpy, with which nothing that needs numpy could be installed."""
    add_wheel(wheel_index, "numpy", "1.26.4")
    package(wheel_index, "factor", "", "9.0", requires="numpy>=1.22")
    for other in ("numpy>=2", "numpy==1.21.6"):
        declare(models, "ninefold", "factor", other)
        assert served(models / "second", tmp_path).models == ("second",)


def test_what_does_not_load_is_named_by_the_file_of_its_author(models: Path, tmp_path: Path) -> None:
    (models / "second" / "1" / "model.py").write_text(f"from factor import NOTHING\n{model_py(1)}")
    place = re.escape(f"cannot import name 'NOTHING' from 'factor' ({models}/second/1/factor/__init__.py)")
    with pytest.raises(EnsembleError, match=place):
        answers(served(models, tmp_path))


def test_a_changed_declaration_is_loaded_by_watch(models: Path, tmp_path: Path) -> None:
    found, said = served(models, tmp_path), list[str]()

    def reloaded(why: str) -> bool:
        return any(line.startswith("reloaded second in ") and f" s ({why}" in line for line in said)

    with (
        watched_source(found, lambda _: None) as (watched, source),
        client_of(server := server_of([watched], arguments=EXPLICIT_MODE)) as client,
        Watch([Watched(source)], server, said.append),
    ):
        assert asked(client, "both") == 18
        declare(models, "ninefold", "factor>=3")
        wait_until(lambda: reloaded("its packages"))
        assert asked(client, "both") == 27
        (models / "second" / "1" / "model.py").write_text(model_py(4))
        wait_until(lambda: reloaded("its packages and second/1/model.py)"))
        assert asked(client, "both") == 36


def test_a_declaration_that_brings_nothing_changes_nothing(models: Path, tmp_path: Path) -> None:
    declare(models, "numpy<2", 'factor; python_version < "3.0"')
    (models / "second" / "1" / "model.py").write_text(f"def later():\n    import factor\n\n\n{model_py(6)}")
    assert answers(served(models / "second", tmp_path), "second") == [6]
