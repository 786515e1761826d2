"""The runtime of a fused ensemble: one Python-backend model that runs the steps of a DAG in one process.

The build copies this folder and ``backends`` into the archive (``NAME/1/triton_ensembles``), so it imports nothing else
of ``triton_ensembles``, and runs under the Python of the image (3.10 or newer). ``model.py``, which Triton calls, stays
in the stub and hands requests on to the process of ``worker.py``, which runs the DAG of ``ensemble.py``.
"""
