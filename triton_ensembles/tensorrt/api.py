"""Build and try a plan with the Python package of TensorRT: the same files as trtexec leaves behind.

By way of polygraphy, NVIDIA's own library over that package, which also moves arrays to the GPU and back.
"""

from __future__ import annotations

import json
from pathlib import Path

from triton_ensembles.tensorrt.plan_builders import Gpu
from triton_ensembles.tensorrt.plan_request import Order
from triton_ensembles.tensorrt.profiles import fill


def build_with_api(order: Order, folder: Path, gpu: Gpu) -> None:
    """Write NAME.plan, NAME.log, NAME.outputN.json and NAME.timing.cache into the order's folder."""
    import tensorrt
    from polygraphy.backend import trt

    profiles = []
    for wanted in order.profiles:
        profile = trt.Profile()
        for tensor, dims in order.inputs.items():
            shapes = (fill(dims, sizes) for sizes in (wanted.minimum, wanted.optimum, wanted.maximum))
            profile.add(tensor, *shapes)
        profiles.append(profile)
    cache = folder / f"{order.name}.timing.cache"
    config = trt.CreateConfig(
        fp16=order.precision == "fp16", profiles=profiles, load_timing_cache=str(cache) if cache.is_file() else None
    )
    network = trt.network_from_onnx_path(str(folder / f"{order.name}.onnx"))
    engine = trt.engine_from_network(network, config=config, save_timing_cache=str(cache))
    trt.save_engine(engine, str(folder / f"{order.name}.plan"))
    (folder / f"{order.name}.log").write_text(
        f"TensorRT version: {tensorrt.__version__}\nSelected Device: {gpu.name}\n"
        f"Compute Capability: {gpu.compute_capability}\n"
    )
    for number, feed in enumerate(order.feeds):
        with trt.TrtRunner(engine, optimization_profile=number) as runner:
            outputs = runner.infer(dict(feed))
        exported = [
            {"name": name, "dimensions": "x".join(map(str, array.shape)), "values": array.ravel().tolist()}
            for name, array in outputs.items()
        ]
        (folder / f"{order.name}.output{number}.json").write_text(json.dumps(exported))
