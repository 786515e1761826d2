"""How long the language server takes for a letter: python -m benchmarks.typing_delay

An ensemble of five Python steps alone, and among a thousand models like them.
"""

import statistics
import tempfile
import time
from pathlib import Path

from tests.editing.pieces import ensemble, write_models
from tests.files import write_files
from triton_ensembles.editing.edited import EditedRepository

_STEPS = 5
_TIMES = 20


def write_ensembles(root: Path, count: int) -> Path:
    """Write ``count`` ensembles of five steps each into ``root``."""
    pieces = write_models(root.with_name("pieces"))
    step = {path: (pieces / "scale" / path).read_text() for path in ("config.pbtxt", "1/model.py")}
    for number in range(count):
        names = [f"step_{number}_{place}" for place in range(_STEPS)]
        write_files(root, {f"{name}/{path}": text for name in names for path, text in step.items()})
        write_files(root / f"ensemble_{number}", {"config.pbtxt": ensemble(*names), "1/.keep": ""})
    return root


def milliseconds(root: Path) -> float:
    """The median time from a changed config to its faults, one change after the other."""
    path, taken = "ensemble_0/config.pbtxt", []
    edited, right = EditedRepository(root), (root / path).read_text()
    wrong = right.replace('key: "OUT"', 'key: "OUTT"', 1)
    for text in [right, *[wrong, right] * _TIMES]:
        started = time.perf_counter()
        faults = edited.check({path: text})
        taken.append(time.perf_counter() - started)
        assert bool(faults) == (text == wrong), faults
    return 1000 * statistics.median(taken[1:])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for count in (1, 167):
            root = write_ensembles(Path(folder) / str(count) / "models", count)
            print(f"{count * (_STEPS + 1):5,} models: {milliseconds(root):.0f} ms")
