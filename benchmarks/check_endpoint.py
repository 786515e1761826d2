"""How long the checker takes for an endpoint of many archives, and how much memory.

    python benchmarks/check_endpoint.py                              200 small archives, each with an environment
    python benchmarks/check_endpoint.py --template dist/cpu/bert_trt.tar.gz --count 10

Without a template each archive is an ensemble of three steps with a packed environment of 1000 files and 2 MB. With
one, its members are packed again under new names of the steps, so that the archives differ as those of an endpoint do.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from triton_ensembles.check.checker import check
from triton_ensembles.triton.destination import Target

IO = """\
max_batch_size: 8
input [ { name: "X", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 4 ] } ]
"""
STEPS = ("preprocess", "network", "postprocess")
MODEL_PY = """\
import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensors = (pb_utils.get_input_tensor_by_name(request, "X").as_numpy() for request in requests)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.asarray(x))]) for x in tensors]
"""


def ensemble(name: str) -> str:
    names = ["X", "after_preprocess", "after_network", "Y"]
    steps = ",\n".join(
        f'{{ model_name: "{name}.{step}" model_version: -1 input_map {{ key: "X" value: "{names[number]}" }} '
        f'output_map {{ key: "Y" value: "{names[number + 1]}" }} }}'
        for number, step in enumerate(STEPS)
    )
    return f'platform: "ensemble"\n{IO}ensemble_scheduling {{ step [\n{steps}\n] }}\n'


def environment() -> bytes:
    """A .tar.gz as conda-pack makes it, small: 1000 files of Python, 2 MB."""
    library = "lib/python3.10"
    words = random.Random(0).choices("abcdefghijklmnopqrstuvwxyz ()=:\n", k=2000)
    files = {"bin/activate": b"", f"{library}/os.py": b"", f"{library}/json/__init__.py": b""}
    files |= {f"{library}/site-packages/numpy/m{number}.py": "".join(words).encode() for number in range(1000)}
    files[f"{library}/site-packages/numpy/__init__.py"] = b""
    files[f"{library}/site-packages/numpy-1.26.4.dist-info/METADATA"] = b"Name: numpy\n"
    return pack(files.items())


def members(name: str, packed_environment: bytes) -> Iterator[tuple[str, bytes]]:
    yield f"{name}/config.pbtxt", ensemble(name).encode()
    yield f"{name}/1/README.md", b"keeps the folder"
    yield "env.tar.gz", packed_environment
    for step in STEPS:
        path = "$$TRITON_MODEL_DIRECTORY/../env.tar.gz"
        config = (
            f'backend: "python"\n{IO}parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{path}" }} }}\n'
        )
        yield f"{name}.{step}/config.pbtxt", config.encode()
        yield f"{name}.{step}/1/model.py", MODEL_PY.encode()


def renamed(template: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """The files of ``template`` with the ensemble's name in paths and configs replaced by ``name``."""
    with tarfile.open(template) as archive:
        old = template.name.removesuffix(".tar.gz")
        for item in archive:
            file = archive.extractfile(item) if item.isreg() else None
            if file:
                data = file.read()
                path = item.name.removeprefix("./").replace(old, name)
                yield path, data.replace(old.encode(), name.encode()) if path.endswith(".pbtxt") else data


def pack(files: Iterable[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as archive:
        for path, data in files:
            item = tarfile.TarInfo(path)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
    return target.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--template", type=Path, help="an archive that build.py made")
    arguments = parser.parse_args()
    packed_environment = environment() if arguments.template is None else b""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for number in range(arguments.count):
            name = f"ensemble{number:03}"
            files = renamed(arguments.template, name) if arguments.template else members(name, packed_environment)
            path = Path(scratch) / f"{name}.tar.gz"
            path.write_bytes(pack(files))
            paths.append(path)
        size = sum(path.stat().st_size for path in paths)
        before = resource.getrusage(resource.RUSAGE_SELF)
        started = time.perf_counter()
        report = check(paths, Target())
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{report.repositories} archives, {size / 1e6:.0f} MB, {len(report.faults)} faults ({report.errors} errors)")
    print(f"{seconds:.1f} s ({after.ru_utime - before.ru_utime:.1f} s of CPU)")
    print(f"peak memory {after.ru_maxrss / 1024:.0f} MiB ({before.ru_maxrss / 1024:.0f} MiB before the check)")


if __name__ == "__main__":
    main()
