"""The content of an unpacked environment, found by running its Python as Triton does; and byte code of its modules."""

import json
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import run_step
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec

# Both scripts run in the tree's Python. They are two, so that `sources` holds what a step imports and not what the
# first script needs. triton_python_backend_utils imports `json`, `struct` and numpy; the stub imports `asyncio` at the
# first request (pb_stub.cc), where compiling it took 0.2 s of each step. Which of the encodings Python itself imports,
# before anything can keep it from writing byte code, depends on the server's locale.
_DESCRIBE = """
import importlib.metadata, json, sys
found = {}
for distribution in importlib.metadata.distributions():
    files = [file for file in distribution.files or () if ".dist-info" not in file.parts[0]]
    if any(distribution.locate_file(file).exists() for file in files):
        modules = {
            file.parts[0].split(".")[0] for file in files
            if (len(file.parts) == 1 and file.suffix in (".py", ".so"))
            or (len(file.parts) == 2 and file.name.split(".")[0] == "__init__")
        }
        found[distribution.metadata["Name"]] = [distribution.version, sorted(modules)]
print(json.dumps({"python": "%d.%d" % sys.version_info[:2], "prefix": sys.prefix, "packages": found}))
"""
_IMPORT = """
import asyncio, encodings.ascii, encodings.latin_1, encodings.utf_8, json, struct, sys
for module in json.loads(sys.argv[1]):
    __import__(module)
specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
print(json.dumps(sorted({getattr(spec, "origin", None) or "" for spec in specs})))
"""


def inspect_environment(tree: Path, spec: EnvironmentSpec) -> tuple[str, dict[str, str], list[Path]]:
    """Run the tree's Python with a clean environment and import what the file asks for. Returns its minor version, the
    versions of the packages that have files in the tree, by name (lower case, dashes), and the ``.py`` files that are
    read when the requested packages are imported. Raises :class:`EnsembleError`: it does not start, a package cannot be
    imported, or libpython, which Triton's stub loads, is missing."""
    facts = _run_script(tree, spec, _DESCRIBE)
    if Path(facts["prefix"]).resolve() != tree.resolve():
        raise EnsembleError(f"the packed Python has the wrong prefix {facts['prefix']}", path=spec.path)
    library = tree / "lib" / f"libpython{facts['python']}.so.1.0"
    if not library.is_file():
        raise EnsembleError(f"{library.name}, which Triton's stub loads, is not in the environment", path=spec.path)
    distributions = {
        canonicalize_name(name): (version, modules) for name, (version, modules) in facts["packages"].items()
    }
    packages = _conda_packages(tree) | {name: version for name, (version, _) in distributions.items()}

    requested = {canonicalize_name(package.name) for package in spec.packages}
    requested |= {canonicalize_name(Requirement(text).name) for text in spec.pip_packages}
    absent = requested - packages.keys()
    if absent:
        message = f"nothing is left of {', '.join(sorted(absent))} in the packed environment"
        raise EnsembleError(message, path=spec.path, cure="remove patterns from `exclude`")
    modules = sorted(module for name in requested & distributions.keys() for module in distributions[name][1])
    names = _run_script(tree, spec, _IMPORT, json.dumps(modules))
    return facts["python"], dict(sorted(packages.items())), [Path(name) for name in names if name.endswith(".py")]


def _run_script(tree: Path, spec: EnvironmentSpec, script: str, *arguments: str) -> Any:
    command: list[str | Path] = [tree / "bin" / "python3", "-B", "-s", "-c", script, *arguments]
    failure = "the packed environment does not work"
    cure = "add what is missing to its dependencies, or remove patterns from `exclude`"
    settings = clean_environment(tree)
    output = run_step(failure, command, environment=settings, cwd=tree, path=spec.path, cure=cure)
    return json.loads(output.splitlines()[-1])


def clean_environment(tree: Path) -> dict[str, str]:
    """The variables that Triton sets for its stub (PATH, LD_LIBRARY_PATH), and no other that affects Python."""
    return {"PATH": f"{tree}/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": f"{tree}/lib", "LANG": "C.UTF-8"}


def _conda_packages(tree: Path) -> dict[str, str]:
    """Versions by name of conda's packages that have a file in the tree besides their metadata."""
    packages: dict[str, str] = {}
    for record in (tree / "conda-meta").glob("*.json"):
        facts = json.loads(record.read_text(encoding="utf-8"))
        if any(".dist-info/" not in name for name in facts["files"]):
            packages[canonicalize_name(facts["name"])] = facts["version"]
    return packages
