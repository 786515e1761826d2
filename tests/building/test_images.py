"""Archives for several images lie side by side, and the project's default image keeps the short name."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.commands.projects import run_in
from tests.project.test_location import write_ensemble


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_ensemble(tmp_path, "doubler")
    return tmp_path


def build(project: Path, image: str = "") -> None:
    chosen = ["--image", image] if image else []
    result = run_in(project, "build", "--target", "gpu", *chosen)
    assert result.exit_code == 0, result.output


def image_of(project: Path, *folders: str) -> str:
    with tarfile.open(project.joinpath("dist", "gpu", *folders, "doubler.tar.gz")) as tar:
        manifest = tar.extractfile("manifest.json")
        assert manifest
        return str(json.load(manifest)["image"])


def test_a_build_for_another_image_leaves_the_archive_of_the_first(project: Path) -> None:
    build(project, "24.09")
    build(project, "25.04")
    assert [image_of(project), image_of(project, "24.09"), image_of(project, "25.04")] == ["25.04", "24.09", "25.04"]


def test_the_default_image_keeps_the_short_name(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.triton-ensembles]\nimage = "24.09"\ninstance = "ml.g5.xlarge"\n')
    build(project)
    build(project, "25.04")
    assert [image_of(project), image_of(project, "25.04")] == ["24.09", "25.04"]
    for image in ("", "25.04"):
        chosen = ["--image", image] if image else []
        again = run_in(project, "build", "--target", "gpu", *chosen)
        assert "unchanged, nothing to do" in again.output
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
