"""The rules, one module for each subject; :mod:`triton_ensembles.check.registry` lists them all."""
