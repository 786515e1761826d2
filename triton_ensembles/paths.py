"""Where things lie in a checkout. Everything else receives its paths as arguments."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENSEMBLES = ROOT / "ensembles"
BACKENDS = Path(__file__).resolve().parent / "backends"
BUILD = ROOT / "build"
DIST = ROOT / "dist"
REPORTS = ROOT / "reports"
TRITON_HOME = ROOT / ".triton"
