"""The gateway: SageMaker's contract before a host, for clients that name a model and its version.

It takes what clients of AWS's older gateway send, ``{"modelname": …, "version": …, "payload": {…}}``, and asks the
host's room.
"""
