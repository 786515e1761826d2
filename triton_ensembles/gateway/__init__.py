"""The gateway: one container that serves several models by name and version, on SageMaker's contract.

It takes what clients of AWS's older gateway send, ``{"modelname": …, "version": …, "payload": {…}}``, and calls a
Triton beside it. ``table.py`` reads the declared models, ``invocation.py`` a request, ``tensors.py`` turns payloads
into tensors and tensors into results, ``triton.py`` is the client of Triton, ``application.py`` the routes,
``metrics.py`` counts, and ``container.py`` starts Triton and the server, and ends when one of them does.
"""
