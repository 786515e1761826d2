"""The rules, in folders by their subject; :mod:`triton_ensembles.checking.registry` finds them all.

No rule imports another: what several of them need lies beside this package.
"""
