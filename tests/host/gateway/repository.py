"""A small repository for the gateway: a model of two versions, one of strings and bytes, one that waits."""

from collections.abc import Mapping
from pathlib import Path

from tests.configs import ON_CPU, tensors
from tests.files import write_files


def _config(inputs: str, outputs: str, more: str = "") -> str:
    return f'backend: "python" {more}\n{tensors(inputs, outputs)}{ON_CPU}'


_HEAD = """import os, time
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse(self.answer(request)) for request in requests]

    def get(self, request, name):
        return pb_utils.get_input_tensor_by_name(request, name).as_numpy()

    def answer(self, request):
"""
_NUMBERS = """        x = self.get(request, "X")
        if (x < 0).any():
            raise pb_utils.TritonModelException("a negative number")
        return [pb_utils.Tensor("Y", x {operation})]
"""
_WORDS = """        words = self.get(request, "TEXT")[0].decode().split()
        size = self.get(request, "FILE").size
        print(len(words), "words", flush=True)
        lengths = [len(word) for word in words]
        shares = [length / size if size > 1 else np.nan for length in lengths]
        return [
            pb_utils.Tensor("WORD", np.array([word.encode() for word in words], dtype=np.object_)),
            pb_utils.Tensor("LENGTH", np.array(lengths, dtype=np.int64)),
            pb_utils.Tensor("SHARE", np.array(shares, dtype=np.float32)),
        ]
"""
_FILE = """        return [pb_utils.Tensor("SIZE", np.array([[self.get(request, "FILE").shape[1]]], dtype=np.int64))]
"""
_WAITS = """        path = self.get(request, "PATH")[0].decode()
        open(path + ".reached", "w").close()
        while not os.path.exists(path):
            time.sleep(0.01)
        return [pb_utils.Tensor("SEEN", np.array([path.encode()], dtype=np.object_))]
"""
TABLE = """
largest_body = 100000

[[models]]
name = "numbers"
version = 1
model = "numbers"
model_version = "1"
inputs.X = { field = "x", form = "json" }
result = "Y"

[[models]]
name = "numbers"
version = "2-beta"
model = "numbers"
model_version = "2"
inputs.X = { field = "x", form = "json" }
result = "Y"

[[models]]
name = "words"
version = "1"
model = "words"
inputs = { TEXT = { field = "text", form = "text" }, FILE = { field = "img", form = "base64" } }
result = { word = "WORD", length = "LENGTH", share = "SHARE" }

[[models]]
name = "size"
version = "1"
model = "file"
inputs.FILE = { field = "img", form = "base64" }
result = ["SIZE"]

[[models]]
name = "waits"
version = "1"
model = "waits"
inputs.PATH = { field = "path", form = "text" }
result = "SEEN"
seconds = 90

[[models]]
name = "waits"
version = "hasty"
model = "waits"
inputs.PATH = { field = "path", form = "text" }
result = "SEEN"
seconds = 0.5
"""


def files() -> Mapping[str, bytes]:
    """The repository's files by their path, the table among them."""
    texts = {
        "numbers/config.pbtxt": _config("X:FP32:-1", "Y:FP32:-1", "max_batch_size: 8 version_policy { all { } }"),
        "numbers/1/model.py": _HEAD + _NUMBERS.format(operation="+ 1"),
        "numbers/2/model.py": _HEAD + _NUMBERS.format(operation="* 10"),
        "words/config.pbtxt": _config("TEXT:STRING:1 FILE:UINT8:-1", "WORD:STRING:-1 LENGTH:INT64:-1 SHARE:FP32:-1"),
        "words/1/model.py": _HEAD + _WORDS,
        "file/config.pbtxt": _config("FILE:UINT8:-1", "SIZE:INT64:1", "max_batch_size: 4"),
        "file/1/model.py": _HEAD + _FILE,
        "waits/config.pbtxt": _config("PATH:STRING:1", "SEEN:STRING:1"),
        "waits/1/model.py": _HEAD + _WAITS,
        "models.toml": TABLE,
    }
    return {path: text.encode() for path, text in texts.items()}


def write(folder: Path) -> Path:
    """The repository in ``folder``, which is returned."""
    return write_files(folder, files())
