"""What expressions of model.py certainly are: what is not certain is nothing, so that no rule concludes from it."""

from __future__ import annotations

import ast

import pytest

from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.kinds import Kind
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.python.types import types_of

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


def _kind(lines: str) -> Kind | None:
    """The kind of ``seen`` in the last line."""
    code = HEAD + "".join(f"        {line}\n" for line in lines.split("\n"))
    nodes = tuple(ast.walk(ast.parse(code)))
    file = PythonFile("1/model.py", "model.py", code.encode(), nodes)
    flow_of(file)
    use = max((n for n in nodes if isinstance(n, ast.Name) and n.id == "seen"), key=lambda n: (n.lineno, n.col_offset))
    return types_of(file).kind(use)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ("for seen in requests:\n    seen", Kind.REQUEST),
        ("for n, seen in enumerate(requests):\n    seen", Kind.REQUEST),
        ("seen = requests[0]\nseen", Kind.REQUEST),
        ("seen = [request for request in requests]\nseen", Kind.LIST),
        ("x = requests[0]\nx = x.inputs()\nseen = x[0]\nseen", Kind.TENSOR),
        ("seen = self.first(requests[0])\nseen", Kind.TENSOR),
        ("seen = self.first(requests[0]).as_numpy()\nseen", Kind.ARRAY),
        ("seen = requests[0].get_response_sender()\nseen", Kind.SENDER),
        ("out = [pb_utils.InferenceResponse([]) for r in requests]\nseen = out[0]\nseen", Kind.RESPONSE),
        ("seen = self.config\nseen", Kind.CONFIG),
        ("seen = self.given\nseen", Kind.ARGS),
        ("seen = f'{requests}'\nseen", Kind.TEXT),
        ("seen = len(requests)\nseen", Kind.NUMBER),
        # Not sure:
        ("seen = self.twice\nseen", None),
        ("seen = requests[0]\nif requests:\n    seen = 1\nseen", None),
        ("seen = requests[0]\nfor seen in range(2):\n    pass\nseen", None),
        ("seen = 1\nfor r in requests:\n    seen\n    seen = r\nseen", None),
        ("seen = 1\ntry:\n    seen = requests[0]\nexcept ValueError:\n    pass\nseen", None),
        ("seen = 1\nwith open('x') as seen:\n    pass\nseen", None),
        ("seen = 1\nimport os as seen\nseen", None),
        ("seen = lambda seen: seen", None),
        ("len = max\nseen = len(requests)\nseen", None),
        ("out = []\nout.append(1)\nout.insert(0, requests)\nseen = out[0]\nseen", None),
    ],
)
def test_what_a_name_is(lines: str, kind: Kind | None) -> None:
    """Otherwise a rule reports a model that answers, or misses one that cannot."""
    assert _kind(lines) == kind
