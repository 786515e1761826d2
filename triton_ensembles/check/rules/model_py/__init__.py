"""Rules about the Python files of a model, on what :mod:`triton_ensembles.check.python` reads in them."""
