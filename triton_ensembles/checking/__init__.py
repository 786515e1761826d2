"""The offline checker: every fault of model repositories, archives and endpoints, before anything is built.

Each rule carries its own examples, a bad and a good one: ``check --explain RULE`` prints them, and the tests load both
into the real tritonserver. That is why model.py texts, small models and the code that writes them to disk are here
(:mod:`~triton_ensembles.checking.examples`, :mod:`~triton_ensembles.checking.staging_example`) and not among the tests.
"""
