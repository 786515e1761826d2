"""Imports are judged by what the image has: by its tag, by its Dockerfile, and by whose image it is."""

import json
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY
from tests.checking.reports import run
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

pytestmark = pytest.mark.usefixtures("git_folder")
MODELS = Path("models")
NVIDIA = "nvcr.io/nvidia/tritonserver:24.09-py3"


def imports(code: str, *options: str, dockerfile: str = "") -> dict[str, tuple[str, str]]:
    """The severity and the words of each import-… finding, by module."""
    stage(Example(python_model(), {"1/model.py": code + MODEL_PY}), MODELS, "step")
    if dockerfile:
        Path("Dockerfile").write_text(dockerfile)
    faults = json.loads(run(MODELS, *options, "--format", "json").stdout)["faults"]
    found = [fault for fault in faults if fault["rule"].startswith("import-")]
    assert len({fault["message"].split("'")[1] for fault in found}) == len(found), "one for each module and step"
    return {fault["message"].split("'")[1]: (fault["severity"], json.dumps(fault)) for fault in found}


@pytest.mark.parametrize(
    ("dockerfile", "module", "severity"),
    [
        (f"FROM {NVIDIA}", "pandas", "error"),
        (f"FROM {NVIDIA}\nRUN pip install pandas", "pandas", None),
        (f"FROM {NVIDIA}\nRUN pip install pandas", "dateutil", None),  # which pandas requires
        (f"FROM {NVIDIA}\nRUN pip install pandas", "cv2", "error"),  # which it does not
        (f"FROM {NVIDIA}\nRUN pip install -U pip wheel && pip install opencv-python", "cv2", None),
        (f"FROM {NVIDIA}\nRUN pip install -U pip wheel && pip install opencv-python", "pandas", "error"),
        (f"FROM {NVIDIA}\nRUN pip install our-own-tools", "our_own_tools", None),
        (f"FROM {NVIDIA}\nRUN pip install our-own-tools", "cv2", "warning"),  # it may require anything
        (f"FROM {NVIDIA}\nRUN ./install.sh", "cv2", "warning"),
        (f"FROM {NVIDIA}\nRUN ./install.sh", "tomllib", "error"),  # no Python 3.10 has it
        ("FROM registry.example.com/tritonserver:24.09-py3-ours", "pandas", "warning"),
        ("FROM registry.example.com/our-tritonserver:prod", "pandas", None),
        ("FROM python:3.10\nRUN pip install pandas", "pandas", "error"),
    ],
)
def test_a_dockerfile_beside_the_models_names_the_image(dockerfile: str, module: str, severity: str | None) -> None:
    """Otherwise half of all errors in other people's repositories are about packages that their image has."""
    assert imports(f"import {module}\n", dockerfile=dockerfile).get(module, (None,))[0] == severity


@pytest.mark.parametrize(
    ("image", "module", "severity"),
    [
        ("24.09-vllm-python-py3", "transformers", None),
        ("24.09-vllm-python-py3", "yaml", None),  # of huggingface-hub
        ("24.09-vllm-python-py3", "librosa", "warning"),
        ("24.09-trtllm-python-py3", "tensorrt_llm", None),
        ("24.11-trtllm-python-py3", "tomllib", "error"),  # its Python is still 3.10
        ("24.11-py3", "tomllib", None),
        (NVIDIA, "transformers", "error"),
        (NVIDIA, "pandas", None),  # which the build puts beside model.py, as the Dockerfile declares it
    ],
)
def test_an_option_wins_and_images_for_language_models_bring_packages(
    image: str, module: str, severity: str | None
) -> None:
    dockerfile = f"FROM {NVIDIA}\nRUN pip install pandas"
    found = imports(f"import {module}\n", "--image", image, dockerfile=dockerfile)
    assert found.get(module, (None,))[0] == severity


def test_a_module_that_is_imported_in_many_lines_is_one_finding_at_the_first_that_fails() -> None:
    """Otherwise one missing package is a page of errors."""
    found = imports("def later():\n    import torch\n\n\nimport torch.nn\nfrom torch import jit\n")
    severity, words = found["torch"]
    assert severity == "error" and '"line": 5' in words
