"""Photographs for the ranges of Inception's activations in int8, preprocessed as the network expects."""

from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.artifacts import accuracy_on_photographs as photographs
from triton_ensembles.artifacts import load_script
from triton_ensembles.artifacts.accuracy import Floats

CROPS = load_script(Path(__file__).parents[2] / "pipelines" / "crops.py")


def feeds(_files: Mapping[str, Path]) -> list[dict[str, Floats]]:
    """One image a run, FP32 [1, 299, 299, 3]."""
    return [{photographs.INPUT: photographs.pixels_of(view)[None]} for view in CROPS.crops()]
