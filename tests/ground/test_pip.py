"""pip, run by processes that do other work as well."""

import subprocess
import sys


def test_who_ran_pip_can_still_import_setuptools() -> None:
    """Otherwise a notebook that has built an ensemble could not compile with torch any more: torch needs setuptools."""
    code = "from triton_ensembles.ground.pip import run_pip; run_pip('--version'); import setuptools"
    subprocess.run([sys.executable, "-c", code], check=True)
