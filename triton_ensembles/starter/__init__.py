"""The files that ``new`` writes: a small ensemble, or one that exists; in an empty folder, a project around it.

names.py            the names that an ensemble can have
draft.py            all files appear at once, or none
templates.py        the files of templates/, with the name in them
project.py          where to, the small ensemble, and the files of a new project
from_repository.py  one that exists: repository.py finds it, models.py copies it (copying.py), completion.py completes
                    its configs, steps.py says what its Python steps need, recipe.py and example.py write the rest
report.py           what is left to do
"""
