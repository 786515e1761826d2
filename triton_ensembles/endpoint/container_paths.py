"""Paths in the container's messages as they would be on AWS: those of this machine are of no use to a client."""

import re

_MODEL = re.compile(r"/[0-9A-Za-z._/-]*/endpoints/\d+\.[^/\s]+/[^/\s]+/\d+/models/(?P<hash>[0-9a-f]{32})/model")


def on_aws(text: str, *, multi_model: bool) -> str:
    """The text with ``/opt/ml/models/HASH/model`` or, of a single model, ``/opt/ml/model`` in place of its folder."""
    return _MODEL.sub(r"/opt/ml/models/\g<hash>/model" if multi_model else "/opt/ml/model", text)
