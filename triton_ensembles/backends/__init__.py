"""Python-based backends for tritonserver with the names of NVIDIA's native ones: the same config.pbtxt loads in both.

The server finds them through --backend-directory (see ``triton/home.py``). For each model instance Triton's Python
backend starts a stub process, which imports ``<backend>/model.py`` as a lone module: only its own folder is on
``sys.path``. So each ``model.py`` first appends the folder that holds ``triton_ensembles`` (four levels up; resolved,
because the server may see the file through a link), and then imports from this package under its full name. The folder
is appended, not inserted: packages of the stub's own Python come first.

Modules here import nothing else of ``triton_ensembles``, so that a stub loads no more than its backend needs.
"""
