#!/usr/bin/env python3
"""The command line: `build.py --help` lists what it does. Run by make, or by hand once `make setup` has run."""

import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"

if (VENV / "ready").exists() and sys.prefix != os.fspath(VENV):
    # Whatever python3 is first on PATH, and whichever of the packages it happens to have.
    os.execv(VENV / "bin" / "python3", [os.fspath(VENV / "bin" / "python3"), *sys.argv])
try:
    from triton_ensembles.cli import main
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as error:
    sys.exit(f"error: the package {error.name} is missing; run: make setup")

if __name__ == "__main__":
    main()
