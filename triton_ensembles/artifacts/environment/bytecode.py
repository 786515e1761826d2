"""Byte code for modules that another Python imports, so that it compiles nothing when a model loads."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from triton_ensembles.ground.programs import ProgramError, output_of, run_step
from triton_ensembles.ground.progress import Progress
from triton_ensembles.server.interpreter import find_interpreter

# Both run in the other Python. Packages that cannot be imported here (they look for a device, say) get no byte code.
_IMPORT = """
import json, sys
sys.path.insert(0, sys.argv[1])
failed = {}
for name in json.loads(sys.argv[2]):
    try:
        __import__(name)
    except (Exception, SystemExit) as error:
        failed[name] = "%s: %s" % (type(error).__name__, error)
specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
print()
print(json.dumps([sorted({getattr(spec, "origin", None) or "" for spec in specs}), failed]))
"""
# The file name inside the code is relative: the importer replaces it with the real one when it loads the code.
_COMPILE = """
import json, py_compile, sys
for name in json.loads(sys.argv[1]):
    py_compile.compile(name, dfile=name, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


def compile_imported(folder: Path, modules: Iterable[str], python: str, progress: Progress) -> dict[str, str]:
    """Compile the files below ``folder`` that importing ``modules`` reads, with a Python ``python`` of this machine.
    Without one there is no byte code, and a line says so. Returns why modules could not be imported."""
    interpreter = find_interpreter(python)
    if interpreter is None:
        progress(f"no byte code, so that models load more slowly: there is no Python {python} on this machine")
        return {}
    files, failed = import_all(folder, modules, interpreter.executable)
    compile_with([interpreter.executable], folder, files)
    return failed


def import_all(folder: Path, modules: Iterable[str], python: Path) -> tuple[list[Path], dict[str, str]]:
    """Import ``modules`` in the program ``python``, each if it can be, with ``folder`` first on sys.path. Returns the
    files that were read, and why modules could not be imported, in Python's words."""
    names = sorted(modules)
    command: list[str | Path] = [python, "-B", "-I", "-c", _IMPORT, folder.resolve(), json.dumps(names)]
    try:
        read, failed = json.loads(output_of(command, cwd=folder).splitlines()[-1])
    except ProgramError as error:
        if len(names) == 1:
            return [], {names[0]: error.reason}
        alone = [import_all(folder, [name], python) for name in names]  # one of them has ended the process
        return [path for paths, _ in alone for path in paths], {k: v for _, why in alone for k, v in why.items()}
    return [Path(name) for name in read], failed


def compile_files(folder: Path, files: Iterable[Path], python: str) -> None:
    """Compile those of ``files`` that lie below ``folder``, if a Python ``python`` is on this machine."""
    interpreter = find_interpreter(python)
    if interpreter is not None:
        compile_with([interpreter.executable], folder, files)


def compile_with(
    python: Sequence[str | Path], folder: Path, files: Iterable[Path], environment: Mapping[str, str] | None = None
) -> None:
    """Compile the ``.py`` files that lie below ``folder`` with the command ``python``. The same sources give the same
    bytes, which stay valid whatever time stamps the sources get (``unchecked-hash``, PEP 552)."""
    real = folder.resolve()
    sources = (path.resolve() for path in files if path.suffix == ".py")
    names = sorted(path.relative_to(real).as_posix() for path in sources if path.is_relative_to(real))
    # Byte code holds sets in the order of their hashes, which must therefore not be random.
    command: list[str | Path] = ["env", "PYTHONHASHSEED=0", *python, "-B", "-s", "-c", _COMPILE, json.dumps(names)]
    run_step("a module cannot be compiled", command, environment=environment, cwd=folder)
