"""Several text files that are edited at once: their difference, and all of them written or none."""

import difflib
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.files import write_whole


def unified_diff(path: Path, before: str, after: str) -> str:
    """The change of the file, as ``diff -u`` prints it."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    lines = difflib.unified_diff(old, new, shown(path), shown(path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def replace_all(texts: Mapping[Path, str]) -> None:
    """Write every text before the first takes its place. A link stays, and what it leads to is replaced."""
    with ExitStack() as files:
        for path, text in texts.items():
            target = path.resolve()
            written = files.enter_context(write_whole(target))
            written.write_bytes(text.encode())
            shutil.copymode(target, written)
