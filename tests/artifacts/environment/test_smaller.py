"""What is said before gigabytes are downloaded that a CPU has no use for."""

import pytest

from triton_ensembles.artifacts.environment.smaller import smaller_forms


@pytest.mark.parametrize(
    ("asked", "options", "says"),
    [
        (["pandas", "Torch>=2"], [], "Torch>=2 of PyPI brings CUDA"),
        (["opencv_python"], [], "there is opencv-python-headless"),
        (["sentence-transformers==3.4.1"], [], "requires torch, which brings CUDA"),
        (["transformers[torch]"], [], "requires torch, which brings CUDA"),
        (["cupy-cuda12x"], [], "computes on an NVIDIA GPU alone; for a CPU there is numpy"),
        (["torch==2.4.0+cpu"], [], ""),
        (["torch"], ["--extra-index-url=https://example.com/cpu"], ""),
        (["xgboost-cpu", "opencv-python-headless"], [], ""),
    ],
)
def test_a_large_package_has_a_line(asked: list[str], options: list[str], says: str) -> None:
    lines = list(smaller_forms(asked, options))
    assert len(lines) == bool(says) and says in "".join(lines)
