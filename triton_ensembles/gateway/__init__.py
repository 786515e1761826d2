"""The gateway: one container that serves several models by name and version, on SageMaker's contract.

It takes what clients of AWS's older gateway send, ``{"modelname": …, "version": …, "payload": {…}}``, and calls a
Triton beside it.
"""
