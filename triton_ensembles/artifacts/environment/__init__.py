"""Packed Python environments for Triton's Python steps."""

from triton_ensembles.artifacts.environment.packed import make_packed_environment

__all__ = ["make_packed_environment"]
