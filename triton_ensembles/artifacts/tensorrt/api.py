"""Builds and runs a plan with TensorRT's Python package, and writes the same files as trtexec.

It uses polygraphy, NVIDIA's library on top of that package, which also copies arrays to the GPU and back.
"""

import json
from pathlib import Path

from triton_ensembles.artifacts.tensorrt.machine import Gpu
from triton_ensembles.artifacts.tensorrt.plan_request import PlanRequest


def build_with_api(request: PlanRequest, folder: Path, gpu: Gpu) -> None:
    """Write NAME.plan, NAME.log, NAME.outputN.json and NAME.timing.cache into the request's folder."""
    import tensorrt
    from polygraphy.backend.trt import (
        CreateConfig,
        Profile,
        TrtRunner,
        engine_from_network,
        network_from_onnx_path,
        save_engine,
    )

    from triton_ensembles.artifacts.tensorrt.profiles import fill

    profiles = []
    for wanted in request.profiles:
        profile = Profile()
        for tensor, dims in request.inputs.items():
            shapes = (fill(dims, sizes) for sizes in (wanted.minimum, wanted.optimum, wanted.maximum))
            profile.add(tensor, *shapes)
        profiles.append(profile)
    cache = folder / f"{request.name}.timing.cache"
    config = CreateConfig(
        fp16=request.precision == "fp16", profiles=profiles, load_timing_cache=str(cache) if cache.is_file() else None
    )
    network = network_from_onnx_path(str(folder / f"{request.name}.onnx"))
    engine = engine_from_network(network, config=config, save_timing_cache=str(cache))
    save_engine(engine, str(folder / f"{request.name}.plan"))
    (folder / f"{request.name}.log").write_text(
        f"TensorRT version: {tensorrt.__version__}\nSelected Device: {gpu.name}\n"
        f"Compute Capability: {gpu.compute_capability}\n"
    )
    for number, feed in enumerate(request.feeds):
        with TrtRunner(engine, optimization_profile=number) as runner:
            outputs = runner.infer(dict(feed))
        exported = [
            {"name": name, "dimensions": "x".join(map(str, array.shape)), "values": array.ravel().tolist()}
            for name, array in outputs.items()
        ]
        (folder / f"{request.name}.output{number}.json").write_text(json.dumps(exported))
