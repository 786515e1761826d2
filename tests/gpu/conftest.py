"""Tests marked ``gpu`` are skipped where there is no NVIDIA GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.artifacts.tensorrt.plan_builders import find_gpu

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if HERE in item.path.parents and item.get_closest_marker("gpu")]
    if marked and find_gpu() is None:
        for item in marked:
            item.add_marker(pytest.mark.skip("no NVIDIA GPU here (nvidia-smi finds none)"))
