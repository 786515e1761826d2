"""A stand-in for NVIDIA's trtexec, which needs a GPU: takes the options that the real one takes, no others, and
computes with ONNX Runtime. Its plan is the ONNX file with a head of its own, so that only it reads it.
"""

import json
import re
import sys
from pathlib import Path

HEAD = b"stand-in plan\n"
SHAPES = re.compile(r"[^:,]+:\d+(x\d+)*(,[^:,]+:\d+(x\d+)*)*")


def main(arguments: list[str]) -> None:
    print(f"&&&& RUNNING TensorRT.trtexec [TensorRT v100500] [b26] # trtexec {' '.join(arguments)}")
    print("[11/21/2026-10:00:00] [I] Selected Device: NVIDIA A10G")
    print("[11/21/2026-10:00:00] [I] Compute Capability: 8.6")
    print("[11/21/2026-10:00:00] [I] TensorRT version: 10.5.0")
    options: dict[str, str] = {}
    profiles = 0
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name == "--profile":
            assert int(value) == profiles, "profiles are numbered from 0"
            profiles += 1
        elif name in ("--minShapes", "--optShapes", "--maxShapes"):
            assert profiles and SHAPES.fullmatch(value), argument
        elif name in ("--noTF32", "--fp16", "--bf16", "--int8", "--skipInference"):
            assert not value
        else:
            assert name in (
                *("--onnx", "--saveEngine", "--timingCacheFile", "--loadEngine", "--useProfile", "--shapes"),
                *("--loadInputs", "--exportOutput", "--iterations", "--warmUp", "--duration"),
            ), argument
            options[name] = value
    if "--onnx" in options:
        Path(options["--saveEngine"]).write_bytes(HEAD + Path(options["--onnx"]).read_bytes())
        Path(options["--timingCacheFile"]).write_bytes(b"timings")
    else:
        infer(options)


def infer(options: dict[str, str]) -> None:
    import numpy as np
    import onnxruntime

    plan = Path(options["--loadEngine"]).read_bytes()
    assert plan.startswith(HEAD)
    session = onnxruntime.InferenceSession(plan.removeprefix(HEAD), providers=["CPUExecutionProvider"])
    shapes = dict(item.split(":") for item in options["--shapes"].split(","))
    files = dict(item.split(":") for item in options["--loadInputs"].split(","))
    kinds = {"tensor(int32)": np.int32, "tensor(float)": np.float32}
    feed = {}
    for node in session.get_inputs():
        shape = [int(size) for size in shapes[node.name].split("x")]
        feed[node.name] = np.fromfile(files[node.name], kinds[node.type]).reshape(shape)
    exported = []
    for node, array in zip(session.get_outputs(), session.run(None, feed), strict=True):
        dimensions = "x".join(map(str, array.shape))
        exported.append({"name": node.name, "dimensions": dimensions, "values": array.ravel().tolist()})
    Path(options["--exportOutput"]).write_text(json.dumps(exported))


if __name__ == "__main__":
    main(sys.argv[1:])
