"""What an archive weighs without its weights."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.engines import find_step
from triton_ensembles.archive.write import write_archive


def size_without_weights(repository: Path, scratch: Path) -> int:
    """Bytes of the archive of ``repository``, packed again without the file that its engine runs."""
    weights = find_step(repository).file
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(repository, tree, copy_function=os.link)
        (tree / weights.relative_to(repository)).unlink()
        write_archive(tree, Path(folder) / "archive.tar.gz")
        return (Path(folder) / "archive.tar.gz").stat().st_size
