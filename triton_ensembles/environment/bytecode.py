"""Byte code for the modules that a cold start reads.

Triton unpacks the environment afresh on every machine, and the first import would compile every module. Measured with
numpy and tokenizers: 0.2 s with byte code, 0.7 s without. Byte code of the modules that this import reads adds 1 MB to
an archive of 27 MB; byte code of everything would add 6.5 MB for modules that hardly any step imports.

It is of the kind ``unchecked-hash`` (PEP 552), which holds whatever time stamps an archive program gives to the
sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.environment.commands import CommandError, output_of
from triton_ensembles.environment.tree import clean_environment
from triton_ensembles.errors import EnsembleError

# The name inside the code is relative: the importer puts the real one in its place when it loads the file.
_COMPILE = """
import json, py_compile, sys
for name in json.loads(sys.argv[1]):
    py_compile.compile(name, dfile=name, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


def compile_sources(tree: Path, sources: Iterable[Path]) -> None:
    """Compile ``sources``, files below ``tree``, with the tree's own Python. The same sources give the same bytes."""
    real = tree.resolve()
    names = sorted(
        path.resolve().relative_to(real).as_posix() for path in sources if path.resolve().is_relative_to(real)
    )
    # Sets are written in the order of their hashes, so those must not be drawn by lot.
    settings = {**clean_environment(tree), "PYTHONHASHSEED": "0"}
    try:
        output_of(
            [tree / "bin" / "python3", "-B", "-s", "-c", _COMPILE, json.dumps(names)], environment=settings, cwd=tree
        )
    except CommandError as error:
        raise EnsembleError(f"a module of the environment can't be compiled: {error.reason}") from error
