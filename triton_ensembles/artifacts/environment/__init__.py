"""Packed Python environments for Triton's Python steps."""

from triton_ensembles.artifacts.environment.packed import PackedEnvironment, make_packed_environment

__all__ = ["PackedEnvironment", "make_packed_environment"]
