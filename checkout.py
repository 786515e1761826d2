"""Where things lie in this checkout, for its tests and benchmarks."""

from pathlib import Path

from triton_ensembles.building.places import Places

ROOT = Path(__file__).resolve().parent
PLACES = Places.of(ROOT)
ENSEMBLES, BUILD, DIST, REPORTS = PLACES.ensembles, PLACES.build, PLACES.dist, PLACES.reports
TRITON_HOME = ROOT / ".triton"
