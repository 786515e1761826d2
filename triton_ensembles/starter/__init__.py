"""What ``new`` writes: a small ensemble, or one that is taken in from a model repository; in an empty folder, a project.

names.py      the names that an ensemble can have
templates.py  the files of templates/, with the name in them
draft.py      all files appear at once, or none
project.py    the rest of a project, around the first ensemble
repository.py the model repository in what --from names, and the model that is wanted in it
taken_in.py   that model and its steps as ensembles/NAME
copying.py    copies without links; sparse.  example.py: a request made up from a config.pbtxt
"""
