"""Packed Python environments for Triton's Python steps."""

from triton_ensembles.artifacts.environment.packed import PackedEnvironment, make_packed_environment
from triton_ensembles.artifacts.environment.spec import EnvironmentSpec, read_environment_file

__all__ = ["EnvironmentSpec", "PackedEnvironment", "make_packed_environment", "read_environment_file"]
