"""All the rules, in the order of docs/rules.md."""

from __future__ import annotations

from triton_ensembles.check.rule import Rule
from triton_ensembles.check.rules import batching, config_release, config_text

# (heading, rules): group 1 of issue 3 first, then SageMaker, endpoints, environments, images and model.py.
GROUPS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("The text of config.pbtxt", (*config_text.RULES, *config_release.RULES)),
    ("Batching", batching.RULES),
)
RULES: tuple[Rule, ...] = tuple(rule for _, rules in GROUPS for rule in rules)
