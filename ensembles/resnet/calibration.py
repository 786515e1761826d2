"""Photographs for the ranges of ResNet-50's activations in int8, preprocessed as the network expects."""

from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.artifacts import load_script
from triton_ensembles.artifacts.accuracy import Floats

CROPS = load_script(Path(__file__).parents[2] / "pipelines" / "crops.py")
ACCURACY = load_script(Path(__file__).with_name("accuracy.py"))


def feeds(_files: Mapping[str, Path]) -> list[dict[str, Floats]]:
    """One image a run, FP32 [1, 3, 224, 224]."""
    return [{ACCURACY.INPUT: ACCURACY.preprocessed(view)[None]} for view in CROPS.crops()]
