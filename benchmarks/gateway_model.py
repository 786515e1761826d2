"""A model that takes a file and hardly any time, for measurements of the gateway itself: the CRC-32 of its bytes."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from triton_ensembles.archive.write import write_archive

MODEL = "crc32"
_FILES = {
    f"{MODEL}/config.pbtxt": """backend: "python"
max_batch_size: 4
input [ { name: "FILE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "CRC32" data_type: TYPE_INT64 dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU } ]
""",
    f"{MODEL}/1/model.py": """import zlib
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        files = [pb_utils.get_input_tensor_by_name(request, "FILE").as_numpy() for request in requests]
        sums = [np.array([[zlib.crc32(file)]], dtype=np.int64) for file in files]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("CRC32", each)]) for each in sums]
""",
    "models.toml": f"""[[models]]
name = "{MODEL}"
version = "1"
model = "{MODEL}"
inputs.FILE = {{ field = "img", form = "base64" }}
result = "CRC32"
""",
}


def gateway_repository(folder: Path) -> Path:
    """The model and the gateway's table in ``folder``, which is returned."""
    for path, content in _FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    return folder


def gateway_archive(folder: Path) -> Path:
    """gateway.tar.gz in ``folder``."""
    path = folder / "gateway.tar.gz"
    write_archive(gateway_repository(folder / "tree"), path)
    return path


def request_of(file: bytes) -> bytes:
    """The client's JSON."""
    return json.dumps({"modelname": MODEL, "payload": {"img": base64.b64encode(file).decode()}}).encode()


def answer_to(file: bytes) -> dict[str, Any]:
    return {"modelname": MODEL, "version": "1", "result": [zlib.crc32(file)]}
