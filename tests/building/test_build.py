"""Building: the same bytes every time, nothing made twice, nothing broken when the process is killed."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from checkout import ROOT
from tests.commands.projects import run_in, write_ensemble
from tests.files import packed_files
from tests.places import borrowed, built_by
from tests.running import running
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest


def copied(places: Places, folder: Path, name: str = "digits") -> Places:
    """Empty build and dist folders, with what ``places`` has fetched and made, and an ensemble to change."""
    for path in (f"ensembles/{name}", "pipelines", "envs"):
        shutil.copytree(ROOT / path, folder / path)
    return borrowed(places, folder, "downloads", "store", ensembles=folder / "ensembles")


def start(places: Places) -> AbstractContextManager[subprocess.Popen[str]]:
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.places import built_by; from triton_ensembles.building.places import Places\n"
        "built = built_by(Places(*map(Path, sys.argv[1:])), 'dali_inception')\n"
        "print(built.sha256, built.changed)"
    )
    return running(sys.executable, "-u", "-c", code, *map(str, (places.ensembles, places.build, places.dist)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert_trt", "digits"])
def test_building_again_from_nothing_gives_the_same_bytes(
    built: dict[str, Built], places: Places, tmp_path: Path, name: str
) -> None:
    again = built_by(borrowed(places, tmp_path, "downloads"), name)
    assert again.changed
    assert again.archive.read_bytes() == built[name].archive.read_bytes()


def test_content_decides_and_not_time_stamps(built: dict[str, Built], places: Places, tmp_path: Path) -> None:
    """Touching a file builds nothing; changing it builds again, and undoing that gives the first archive again."""
    mine = copied(places, tmp_path)
    first = built_by(mine, "digits")
    config = mine.ensembles / "digits" / "network" / "config.pbtxt"
    text = config.read_text()
    os.utime(config)
    assert not built_by(mine, "digits").changed
    config.write_text(text.replace('string_value: "1"', 'string_value: "2"'))
    second = built_by(mine, "digits")
    assert second.changed and second.sha256 != first.sha256
    config.write_text(text)
    for _ in range(2):
        third = built_by(mine, "digits")
        assert third.changed and third.sha256 == first.sha256
        third.archive.write_bytes(third.archive.read_bytes()[:1000])  # a damaged one is also built again


@pytest.mark.parametrize("seconds", [1.0, 2.5])
def test_a_killed_build_leaves_no_broken_archive_and_the_next_one_heals(
    built: dict[str, Built], places: Places, tmp_path: Path, seconds: float
) -> None:
    mine = borrowed(places, tmp_path, "downloads", "store")
    with start(mine) as process:
        time.sleep(seconds)  # whatever it is doing then
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for archive in mine.dist.rglob("*.tar.gz"):
        if not archive.name.startswith("."):
            gzip.decompress(archive.read_bytes())
    again = built_by(mine, "dali_inception")
    assert again.sha256 == built["dali_inception"].sha256
    assert [path.name for path in (mine.dist / "cpu").iterdir()] == ["dali_inception.tar.gz"]
    assert not list((mine.build / "cpu").glob(".*.partial"))


def test_two_builds_at_once_make_one_archive(built: dict[str, Built], places: Places, tmp_path: Path) -> None:
    mine = borrowed(places, tmp_path, "downloads", "store")
    with start(mine) as one, start(mine) as other:
        outputs = [process.communicate()[0] for process in (one, other)]
    results = sorted(output.splitlines()[-1] for output in outputs)
    sha256 = built["dali_inception"].sha256
    assert results == [f"{sha256} False", f"{sha256} True"]


def test_random_weights_are_reported_loudly_and_in_the_manifest(built: dict[str, Built]) -> None:
    if not built["dali_inception"].random:
        pytest.skip("this machine can fetch the pretrained Inception graph")
    assert "dali_inception HAS RANDOM WEIGHTS" in run_in(ROOT, "build", "dali_inception").stderr
    assert built["dali_inception"].manifest["artifacts"]["inception_graphdef/1/model.xml"]["random"]


def test_all_faults_of_an_ensemble_are_told_before_anything_is_made(places: Places, tmp_path: Path) -> None:
    mine = copied(places, tmp_path)
    config = mine.ensembles / "digits" / "ensemble" / "config.pbtxt"
    text = config.read_text().replace('value: "ink"', 'value: "other_ink"', 1)
    config.write_text(text.replace("max_batch_size: 64", "max_batch_size: 128"))
    with pytest.raises(EnsembleError) as caught:
        built_by(mine, "digits")
    message = str(caught.value)
    assert "digits has faults, so nothing was built" in message
    assert "other_ink" in message and "max_batch_size" in message
    assert not mine.dist.exists() and not (mine.build / "cpu" / "digits").exists()


def test_a_faulty_archive_does_not_replace_the_previous_one(places: Places, tmp_path: Path) -> None:
    """Otherwise an archive that no server loads is uploaded. Only the archive shows it: the build makes the file."""
    mine = copied(places, tmp_path, "dali_inception")
    first = built_by(mine, "dali_inception")
    config = mine.ensembles / "dali_inception" / "dali" / "config.pbtxt"
    config.write_text('default_model_filename: "pipeline.dali"\n' + config.read_text())
    with pytest.raises(EnsembleError) as caught:
        built_by(mine, "dali_inception")
    message = str(caught.value)
    assert f"the archive of {mine.ensembles / 'dali_inception'} has faults, so it was not written" in message
    place = f"{first.archive}!dali_inception.dali/1: error[model-file-missing]"
    assert place in message and "version 1 has no pipeline.dali" in message
    assert [path.name for path in first.archive.parent.iterdir()] == ["dali_inception.tar.gz"]
    assert file_digest(first.archive) == first.sha256
    assert (first.repository / "dali_inception.dali" / "1" / "model.dali").is_file()


# Archives for several images lie side by side, and the project's default image keeps the short name.


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_ensemble(tmp_path, "doubler")
    return tmp_path


def build_for(project: Path, image: str = "") -> str:
    result = run_in(project, "build", "--target", "gpu", *(["--image", image] if image else []))
    assert result.exit_code == 0, result.output
    return result.output


def image_of(project: Path, *folders: str) -> str:
    files = packed_files(project.joinpath("dist", "gpu", *folders, "doubler.tar.gz"))
    return str(json.loads(files["manifest.json"])["image"])


def test_a_build_for_another_image_leaves_the_archive_of_the_first(project: Path) -> None:
    build_for(project, "24.09")
    build_for(project, "25.04")
    assert [image_of(project), image_of(project, "24.09"), image_of(project, "25.04")] == ["25.04", "24.09", "25.04"]


def test_the_default_image_keeps_the_short_name(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.triton-ensembles]\nimage = "24.09"\ninstance = "ml.g5.xlarge"\n')
    build_for(project)
    build_for(project, "25.04")
    assert [image_of(project), image_of(project, "25.04")] == ["24.09", "25.04"]
    for image in ("", "25.04"):
        assert "unchanged, nothing to do" in build_for(project, image)
    assert '"24.09"' in run_in(project, "list", "--target", "gpu", "--format", "json").output
    assert run_in(project, "clone", "doubler", "--target", "gpu", "--count", "1", "--prefix", "a").exit_code == 0
    assert run_in(project, "prune", "--dry-run").exit_code == 0


def test_what_the_cpu_target_has_no_use_for_does_not_stop_it(project: Path) -> None:
    """Otherwise a project that names its instance could not be served here."""
    (project / "pyproject.toml").write_text(
        '[tool.triton-ensembles]\nimage = "registry.example.com/ours:prod"\ninstance = "ml.g5.xlarge"\n'
    )
    result = run_in(project, "build")
    assert result.exit_code == 0, result.output
    assert (project / "dist" / "cpu" / "doubler.tar.gz").is_file()
