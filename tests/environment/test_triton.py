"""The archive as EXECUTION_ENV_PATH of the real tritonserver."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as triton

from triton_ensembles.environment import PackedEnvironment
from triton_ensembles.triton.home import server_python
from triton_ensembles.triton.server import TritonServer

CONFIG = """
name: "{name}"
backend: "python"
max_batch_size: 8
input [ {{ name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] }} ]
output [ {{ name: "FACTS" data_type: TYPE_STRING dims: [ 1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters {{
  key: "EXECUTION_ENV_PATH"
  value {{ string_value: "$$TRITON_MODEL_DIRECTORY/../processing_env.tar.gz" }}
}}
"""
MODEL = """
import json
import sys

import numpy as np
import tokenizers
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([self.facts(request)]) for request in requests]

    def facts(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        with open("/proc/self/maps") as maps:
            libpython = {line.split()[-1] for line in maps if "libpython" in line}
        facts = [sys.prefix, np.__file__, tokenizers.__file__, *libpython]
        rows = [[json.dumps([text.decode(), facts]).encode()] for text in texts[:, 0]]
        return pb_utils.Tensor("FACTS", np.array(rows, dtype=object))
"""


def test_two_steps_run_inside_one_extracted_environment(packed: PackedEnvironment, tmp_path: Path) -> None:
    """Otherwise steps run on the server's own Python, or each unpacks a copy, or texts arrive garbled (numpy 2)."""
    if packed.python != server_python():
        pytest.skip(f"the server's stub is for Python {server_python()}, the environment has {packed.python}")
    shutil.copyfile(packed.path, tmp_path / "processing_env.tar.gz")
    for name in ("first", "second"):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "config.pbtxt").write_text(CONFIG.format(name=name))
        (tmp_path / name / "1" / "model.py").write_text(MODEL)
    texts = np.array([["one"], ["zwei ☕"], [""]], dtype=object)
    prefixes = set()
    with TritonServer([tmp_path]) as server:
        client = triton.InferenceServerClient(server.http_url.removeprefix("http://"))
        for name in ("first", "second"):
            tensor = triton.InferInput("TEXT", list(texts.shape), "BYTES")
            tensor.set_data_from_numpy(texts)
            rows = [json.loads(row[0]) for row in client.infer(name, [tensor]).as_numpy("FACTS")]
            assert [row[0] for row in rows] == ["one", "zwei ☕", ""]
            prefix, *files = rows[0][1]
            assert Path(prefix).parent.name.startswith("python_env_")
            assert [file for file in files if not file.startswith(prefix)] == []
            prefixes.add(Path(prefix))
        client.close()
    (extracted,) = prefixes
    assert not extracted.exists(), "the server removes it when it is stopped in an orderly way"
