"""Archives for tests: tiny models that the real Triton loads within a second or two."""

import gzip
import io
import json
import random
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.configs import in_a_row, tensors
from tests.files import write_files

CONFIG = """
name: "{name}"
backend: "python"
input [ {{ name: "X" data_type: TYPE_FP32 dims: [ -1 ] }} ]
output [ {{ name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""
_MODEL = """
import os, time
import numpy as np
import triton_python_backend_utils as pb_utils

def wait(gate):
    open(gate + ".reached", "w").close()
    while not os.path.exists(gate):
        time.sleep(0.01)

class TritonPythonModel:
    def initialize(self, args):
        self.args = args
        {initialize}

    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            {execute}
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        return answers

    def finalize(self):
        {finalize}
"""


CALL = """request = pb_utils.InferenceRequest(model_name="helper", requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", x)])
            x = pb_utils.get_output_tensor_by_name(request.exec(), "Y").as_numpy()"""
"""For ``execute``: what the model ``helper`` makes of X."""


def model_py(initialize: str = "pass", execute: str = "pass", finalize: str = "pass") -> str:
    """A model.py that gives X back as Y, after running the lines of Python given."""
    return _MODEL.format(initialize=initialize, execute=execute, finalize=finalize)


def model(
    name: str = "identity", initialize: str = "pass", execute: str = "pass", finalize: str = "pass"
) -> dict[str, bytes]:
    """The files of a Python model that gives X back as Y, after running the lines of Python given."""
    return {
        f"{name}/config.pbtxt": CONFIG.format(name=name).encode(),
        f"{name}/1/model.py": model_py(initialize, execute, finalize).encode(),
    }


ENVIRONMENT = """
parameters { key: "EXECUTION_ENV_PATH" value { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" } }
"""


def with_environment(files: dict[str, bytes], name: str = "identity", megabytes: int = 1) -> dict[str, bytes]:
    """The files of a Python model, with an environment as a tar that only adds so much to its Python."""
    filler = random.Random(name).randbytes(megabytes << 20)
    tar = packed({"bin/activate": b"", "lib/filler": filler})
    config = files[f"{name}/config.pbtxt"] + ENVIRONMENT.encode()
    return files | {f"{name}/config.pbtxt": config, f"{name}/env.tar.gz": tar}


class Gate:
    """Holds a model up until the test lets it go on, and says when the model has got there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "gate"
        self.wait = f"wait({str(self._path)!r})"  # a line for the model

    def reached(self) -> bool:
        return self._path.with_suffix(".reached").exists()

    def open(self) -> None:
        self._path.touch()


def ensemble(name: str, *steps: str) -> dict[str, bytes]:
    """The files of an ensemble that hands X through these steps, one after the other."""
    config = f'name: "{name}"\n{in_a_row(*steps)}{tensors()}'
    return {f"{name}/config.pbtxt": config.encode(), f"{name}/1/README.md": b"keeps the folder"}


def packed(files: Mapping[str, bytes], *more: tarfile.TarInfo) -> bytes:
    """A .tar.gz of the files, and of further members as they are."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_000_000_000
            tar.addfile(member, io.BytesIO(content))
        for member in more:
            tar.addfile(member)
    return gzip.compress(raw.getvalue(), 1, mtime=0)


def written(files: Mapping[str, bytes | str], folder: Path) -> Path:
    """The folder, with the files in it."""
    return write_files(folder, files)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member that is not a file: a link, a device."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def body(*values: float) -> bytes:
    """A request in JSON."""
    tensor = {"name": "X", "shape": [len(values)], "datatype": "FP32", "data": list(values)}
    return json.dumps({"inputs": [tensor]}).encode()


def values(answer: bytes) -> list[float]:
    """The numbers of a reply in JSON."""
    (output,) = json.loads(answer)["outputs"]
    return list(output["data"])
