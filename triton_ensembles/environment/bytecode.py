"""Byte code for the modules that a cold start imports.

Triton unpacks the environment on every machine, and the first import would compile every module. Measured with numpy
and tokenizers: 0.2 s with byte code, 0.7 s without. Byte code of the modules that this import reads adds 1 MB to an
archive of 27 MB; byte code of everything would add 6.5 MB for modules that hardly any step imports.

It is of the kind ``unchecked-hash`` (PEP 552), which stays valid whatever time stamps the sources get.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.environment.inspection import clean_environment
from triton_ensembles.environment.programs import run_step

# The file name inside the code is relative: the importer replaces it with the real one when it loads the code.
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
    # Byte code holds sets in the order of their hashes, which must therefore not be random.
    settings = {**clean_environment(tree), "PYTHONHASHSEED": "0"}
    command: list[str | Path] = [tree / "bin" / "python3", "-B", "-s", "-c", _COMPILE, json.dumps(names)]
    run_step("a module of the environment cannot be compiled", command, environment=settings, cwd=tree)
