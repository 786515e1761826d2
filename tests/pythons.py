"""Pythons that a test needs beside its own."""

import shutil

import pytest

from triton_ensembles.server.interpreter import Interpreter, find_interpreter, inspect_interpreter


def python_or_skip(minor: str) -> Interpreter:
    """Find the Python of a minor version with its shared library, or skip the test."""
    if not (found := find_interpreter(minor)):
        pytest.skip(f"there is no Python {minor} with a shared library here")
    return found


def any_python_or_skip(minor: str) -> Interpreter:
    """Find the Python of a minor version, for what loads no stub and so needs no shared library, or skip the test."""
    on_path = shutil.which(f"python{minor}")
    found = find_interpreter(minor) or (inspect_interpreter(on_path) if on_path else None)
    if not found:
        pytest.skip(f"there is no Python {minor} here")
    return found
