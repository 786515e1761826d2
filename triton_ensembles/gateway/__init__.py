"""The gateway: one container that serves several models by name and version, on SageMaker's contract.

It takes what clients of AWS's older gateway send, ``{"modelname": …, "version": …, "payload": {…}}``, and asks a
Triton beside it. ``table.py`` reads the declared models, ``asked.py`` a request, ``tensors.py`` turns payloads into
tensors and tensors into results, ``triton.py`` speaks to Triton, ``application.py`` answers (``asgi.py`` has what it
needs of HTTP, ``http1.py`` its connections), and ``container.py`` starts Triton and the server, and ends when one of
them does. gRPC is spoken by ``channel.py``, over the connections of ``http2.py``, whose headers are in ``hpack.py``.
"""
