"""What expressions of model.py surely are: what is not sure is nothing, so that no rule concludes from it."""

from __future__ import annotations

import ast

import pytest

from triton_ensembles.check.python.flow import flow_of
from triton_ensembles.check.python.kinds import (
    ARGS,
    ARRAY,
    CONFIG,
    LIST,
    NUMBER,
    REQUEST,
    RESPONSE,
    SENDER,
    TENSOR,
    TEXT,
)
from triton_ensembles.check.python.source import PythonFile
from triton_ensembles.check.python.types import types_of

HEAD = """\
import json
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.given = args
        self.twice = 1
        self.twice = pb_utils.Tensor("X", np.zeros(1))

    def first(self, request):
        return request.inputs()[0]

    def execute(self, requests):
"""


def _kind(lines: str) -> str:
    """What ``seen`` is in the last line."""
    code = HEAD + "".join(f"        {line}\n" for line in lines.split("\n"))
    nodes = tuple(ast.walk(ast.parse(code)))
    file = PythonFile("1/model.py", "model.py", code.encode(), nodes)
    flow_of(file)
    use = max((n for n in nodes if isinstance(n, ast.Name) and n.id == "seen"), key=lambda n: (n.lineno, n.col_offset))
    found = types_of(file).kind(use)
    return found.name if found else ""


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ("for seen in requests:\n    seen", REQUEST),
        ("for n, seen in enumerate(requests):\n    seen", REQUEST),
        ("seen = requests[0]\nseen", REQUEST),
        ("seen = [request for request in requests]\nseen", LIST),
        ("x = requests[0]\nx = x.inputs()\nseen = x[0]\nseen", TENSOR),
        ("seen = self.first(requests[0])\nseen", TENSOR),
        ("seen = self.first(requests[0]).as_numpy()\nseen", ARRAY),
        ("seen = requests[0].get_response_sender()\nseen", SENDER),
        ("out = []\nfor r in requests:\n    out.append(pb_utils.InferenceResponse([]))\nseen = out[0]\nseen", RESPONSE),
        ("seen = self.config\nseen", CONFIG),
        ("seen = self.given\nseen", ARGS),
        ("seen = f'{requests}'\nseen", TEXT),
        ("seen = len(requests)\nseen", NUMBER),
        # Not sure:
        ("seen = self.twice\nseen", ""),
        ("seen = requests[0]\nif requests:\n    seen = 1\nseen", ""),
        ("seen = requests[0]\nfor seen in range(2):\n    pass\nseen", ""),
        ("seen = 1\nfor r in requests:\n    seen\n    seen = r\nseen", ""),
        ("seen = 1\ntry:\n    seen = requests[0]\nexcept ValueError:\n    pass\nseen", ""),
        ("seen = 1\nwith open('x') as seen:\n    pass\nseen", ""),
        ("seen = 1\nimport os as seen\nseen", ""),
        ("seen = lambda seen: seen", ""),
        ("len = max\nseen = len(requests)\nseen", ""),
        ("out = []\nout.append(1)\nout.insert(0, requests)\nseen = out[0]\nseen", ""),
    ],
)
def test_what_a_name_is(lines: str, kind: str) -> None:
    """Otherwise a rule reports a model that answers, or misses one that cannot."""
    assert _kind(lines) == kind
