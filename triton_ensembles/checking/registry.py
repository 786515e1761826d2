"""All the rules: whatever the modules below checking/rules/ define, and those of the extensions."""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from triton_ensembles.checking.extensions import EXTENSIONS
from triton_ensembles.checking.rule import REGISTERED

_PACKAGES = [import_module(f"{name}.rules") for name in (__package__, *EXTENSIONS)]
for _package in _PACKAGES:
    for _module in walk_packages(_package.__path__, f"{_package.__name__}."):
        import_module(_module.name)

RULES_BY_ID = dict(sorted(REGISTERED.items()))
RULES = tuple(RULES_BY_ID.values())
TEXT_EXAMPLES = tuple(Path(folder) / "examples.toml" for package in _PACKAGES for folder in package.__path__)
"""The files that describe bad and good examples where a model cannot show them."""
