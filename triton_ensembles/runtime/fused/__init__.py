"""The runtime of a fused ensemble: one Python-backend model that runs the steps of a DAG in one process.

The build copies this folder and ``backends`` into the archive (``NAME/1/triton_ensembles``), so it imports nothing else
of ``triton_ensembles``, and runs under the Python of the image (3.10 or newer).

    model.py         what Triton calls; it stays in the stub and hands requests on
    worker.py        the process that the steps run in: started, asked, and started again after it died
    ensemble.py      the DAG: which step runs when, with which tensors, and what is answered
    plan.py          the DAG as the build compiled it
    shared_files.py  files that other loaded ensembles have too
"""
