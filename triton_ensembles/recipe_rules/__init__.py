"""Additions of this project to the checker: the rules about recipes, and what the build makes of a folder with one."""

from triton_ensembles.recipe_rules.source_form import SOURCE_FORM as SOURCE_FORM
