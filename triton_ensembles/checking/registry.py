"""All the rules: whatever the modules below checking/rules/ define."""

from importlib import import_module
from pkgutil import walk_packages

from triton_ensembles.checking import rules
from triton_ensembles.checking.rule import REGISTERED

for _module in walk_packages(rules.__path__, f"{rules.__name__}."):
    import_module(_module.name)

RULES_BY_ID = dict(sorted(REGISTERED.items()))
RULES = tuple(RULES_BY_ID.values())
