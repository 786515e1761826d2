#!/usr/bin/env python3
"""The command line in this checkout, whose ensembles are the project when the current folder is in none.

`build.py --help` lists the commands. Run by make, or by hand once `make setup` has run.
"""

import os
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent
VENV = CHECKOUT / ".venv"

if (VENV / "ready").exists() and sys.prefix != os.fspath(VENV):
    # Whatever python3 is first on PATH, and whichever of the packages it happens to have.
    os.execv(VENV / "bin" / "python3", [os.fspath(VENV / "bin" / "python3"), *sys.argv])
try:
    from triton_ensembles.commands.cli import main
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as error:
    sys.exit(f"error: the package {error.name} is missing; run: make setup")

if __name__ == "__main__":
    main(default_map={"project": CHECKOUT})
