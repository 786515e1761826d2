"""What a Dockerfile beside a repository says of the image, in the ways in which people write one."""

from pathlib import Path

import pytest

from triton_ensembles.triton.dockerfile import Dockerfile, dockerfile_of, read_dockerfile

BASE = "FROM nvcr.io/nvidia/tritonserver:24.09-py3\n"


def read(folder: Path, text: str) -> Dockerfile:
    (folder / "Dockerfile").write_text(text)
    found = read_dockerfile(folder / "Dockerfile")
    assert found
    return found


@pytest.mark.parametrize(
    ("command", "packages"),
    [
        ("RUN pip install pandas==2.1 'Pillow>=10,<11' scikit_learn", {"pandas", "pillow", "scikit-learn"}),
        ("RUN python3 -m pip install --no-cache-dir -U --index-url https://example.org torch", {"torch"}),
        ("RUN apt-get update && \\\n  # why\n\n  pip3 install tritonclient[all] && rm -rf /tmp", {"tritonclient"}),
        ("RUN --mount=type=cache,target=/var/cache/uv uv pip install --system nltk", {"nltk"}),
        ("RUN PIP_NO_CACHE_DIR=1 pip install 'torch @ https://example.org/torch-2.1-cp310.whl'", {"torch"}),
        ("ARG VERSION=4.44\nRUN pip install transformers==${VERSION} ${NONE:-einops}", {"transformers", "einops"}),
        ('RUN ["pip", "install", "regex"]', {"regex"}),
        ("RUN apt-get install -y libgl1 python3-yaml python3-dev", {"yaml"}),
    ],
)
def test_packages_that_a_command_installs(tmp_path: Path, command: str, packages: set[str]) -> None:
    found = read(tmp_path, f"{BASE}{command}\n")
    assert (set(found.packages), found.unread) == (packages, "")


@pytest.mark.parametrize(
    "command",
    ["pip install -r missing.txt", "pip install .", "./install.sh", "bash /tmp/setup.sh", "poetry install", "uv sync",
     "pip install git+https://example.org/x.git", "conda env create -f env.yml", "pip install $PACKAGES",
     "pip install ops-1-py3-none-any.whl", "<<EOF\npip install a\nEOF", "cd a; conda install b"],
)  # fmt: skip
def test_what_is_not_read_is_named_by_its_line(tmp_path: Path, command: str) -> None:
    assert read(tmp_path, f"{BASE}\nRUN {command}\n").unread.endswith("Dockerfile:3")


def test_packages_of_another_stage_are_not_read(tmp_path: Path) -> None:
    text = f"FROM python:3.10 AS wheels\nRUN pip install timm\n{BASE}COPY --from=wheels /usr/local/lib /usr/local/lib\n"
    assert read(tmp_path, text).unread.endswith("Dockerfile:4")


def test_requirements_files_are_found_from_the_build_context(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "docker").mkdir()
    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / "requirements.txt").write_text("pandas>=2 ; python_version>'3.8'\n# no\n-r more.txt\n")
    (tmp_path / "serving" / "more.txt").write_text("--extra-index-url https://example.org\ntimm  # pictures\n")
    text = f"{BASE}COPY serving/requirements.txt /opt/app/\nRUN pip install -r /opt/app/requirements.txt\n"
    found = read(tmp_path / "docker", text)
    assert (set(found.packages), found.unread) == ({"pandas", "timm"}, "")


def test_the_last_stage_on_triton_counts_with_those_that_it_is_made_from(tmp_path: Path) -> None:
    text = """
ARG TAG=24.09
FROM python:3.10 AS wheels
RUN pip install black
FROM --platform=linux/amd64 nvcr.io/nvidia/tritonserver:${TAG}-py3 AS base
RUN pip install pandas
FROM base
RUN pip install timm
FROM alpine
RUN pip install not_this
"""
    found = read(tmp_path, text)
    assert found.image == "nvcr.io/nvidia/tritonserver:24.09-py3"
    assert (found.line, set(found.packages)) == (5, {"pandas", "timm"})


def test_the_nearest_one_on_triton_is_found_within_the_git_repository(tmp_path: Path) -> None:
    models = tmp_path / "git" / "serving" / "models"
    models.mkdir(parents=True)
    (tmp_path / "Dockerfile").write_text(BASE)
    (tmp_path / "git" / ".git").mkdir()
    assert dockerfile_of(models) is None
    (tmp_path / "git" / "serving" / "Dockerfile").write_text("FROM python:3.10\n")
    (tmp_path / "git" / "Dockerfile.triton").write_text(BASE.replace("24.09", "24.05"))
    found = dockerfile_of(models)
    assert found and found.image.endswith("24.05-py3")
