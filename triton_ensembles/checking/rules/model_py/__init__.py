"""Rules about the Python files of a model, on what :mod:`triton_ensembles.checking.python` reads in them."""
