#!/usr/bin/env python3
"""The command line: `build.py --help` lists what it does. Run by make, or by hand once `make setup` has run."""

import os
import sys
from pathlib import Path

VENV_PYTHON = Path(__file__).resolve().parent / ".venv" / "bin" / "python3"

try:
    from triton_ensembles.cli import main
except ModuleNotFoundError as error:
    if not VENV_PYTHON.exists() or sys.prefix == os.fspath(VENV_PYTHON.parents[1]):
        sys.exit(f"error: the package {error.name} is missing; run: make setup")
    os.execv(VENV_PYTHON, [os.fspath(VENV_PYTHON), *sys.argv])

if __name__ == "__main__":
    main()
