"""Pythons that a test needs beside its own."""

import pytest

from triton_ensembles.server.interpreter import Interpreter, find_interpreter


def python_or_skip(minor: str) -> Interpreter:
    """Find the Python of a minor version with its shared library, or skip the test."""
    if not (found := find_interpreter(minor)):
        pytest.skip(f"there is no Python {minor} with a shared library here")
    return found
