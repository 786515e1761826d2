"""An environment without links, because SageMaker refuses archives that have any."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from triton_ensembles.artifacts.environment.libraries import needed_libraries, own_name

# The program of the same folder, whatever the folder's place. Python finds its prefix relative to either of the two.
_LAUNCHER = '#!/bin/sh\nexec "${{0%/*}}/{name}" "$@"\n'


def replace_links(tree: Path) -> None:
    """Replace every symbolic link below ``tree`` by what it leads to, if anything. The tree grows little: ``python3``
    starts ``python3.11``, which conda links statically, and libraries keep only the names that the loader requests."""
    links = list(_links(tree))
    _keep_needed_names(tree, links)
    for link in links:
        if not link.is_symlink():
            continue
        target = link.resolve()
        is_python = link.parent == tree / "bin" and link.name.startswith("python") and target.parent == link.parent
        link.unlink()
        if target.is_dir():
            shutil.copytree(target, link, ignore_dangling_symlinks=True)
        elif is_python:
            link.write_text(_LAUNCHER.format(name=target.name), encoding="utf-8")
            link.chmod(0o755)
        elif target.is_file():
            shutil.copy2(target, link)


def _links(tree: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(tree):
        for name in sorted(folders + files):
            if (path := Path(folder, name)).is_symlink():
                yield path


def _keep_needed_names(tree: Path, links: Iterable[Path]) -> None:
    """Give each library that has links beside it a name that is needed; remove the links that are not."""
    links_by_library: dict[Path, list[Path]] = {}
    for link in links:
        target = link.resolve()
        if ".so" in link.name and target.is_file() and target.parent == link.parent.resolve():
            links_by_library.setdefault(target, []).append(link)
    if not links_by_library:
        return
    needed = needed_libraries(path for path in tree.rglob("*.so*") if path.is_file() and not path.is_symlink())
    needed |= needed_libraries(path for path in (tree / "bin").iterdir() if path.is_file() and not path.is_symlink())
    for library, aliases in links_by_library.items():
        names = needed | {own_name(library) or library.name}
        kept = [link for link in aliases if link.name in names]
        for link in aliases:
            if link not in kept:
                link.unlink()
        if kept and library.name not in names:
            library.replace(kept[0])
            for link in kept[1:]:
                link.unlink()
                shutil.copy2(kept[0], link)
