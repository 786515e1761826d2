"""The light core: what is installed by `pip install triton-ensembles` alone, and a Python that has nothing else."""

import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# sitecustomize.py, which Python imports as it starts: the modules in %r are not there.
SITECUSTOMIZE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

NAMES = frozenset(%r)
sys.meta_path.insert(0, Missing())
"""


def distributions(requirements: list[str]) -> set[str]:
    """Find what these install, with all that they require in turn, by canonical name."""
    found: set[str] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name == PROJECT["name"]:  # an extra that another one includes
            waiting += [(each, "") for own in requirement.extras for each in PROJECT["optional-dependencies"][own]]
            continue
        if name in found and not requirement.extras:
            continue
        found.add(name)
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        waiting += [(each, extra) for each in needed for extra in ("", *requirement.extras)]
    return found


def modules_without(installed: set[str]) -> list[str]:
    """The top-level modules of this Python that the distributions ``installed`` do not bring."""
    return sorted(
        module
        for module, owners in packages_distributions().items()
        if module.isidentifier() and not {canonicalize_name(owner) for owner in owners} & installed
    )
