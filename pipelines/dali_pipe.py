"""The DALI graphs of the ensembles: an encoded image in, what the network reads out.

    DALI_INPUT_0   uint8 [any]           the bytes of an image file: JPEG, PNG, BMP, TIFF, WebP, …
    decode         uint8 [H, W, 3] RGB   EXIF orientation applied, alpha dropped, grey and CMYK turned into RGB

inception, for dali_inception:

    resize         uint8 [299, 299, 3]   both sides at once, the aspect ratio is not kept; triangular filter
    normalise      float32 [299, 299, 3] (value - 127.5) / 127.5, so from -1 to 1; rows, columns, channels
    DALI_OUTPUT_0

Why [-1, 1]: it is what slim's Inception preprocessing trains with (0..1, minus 0.5, times 2), what Triton's
image_client calls INCEPTION scaling, and what Open Model Zoo's googlenet-v3 states for this very frozen graph (mean
values 127.5, scale 127.5). The ImageNet mean and deviation of the AWS example belong to other networks.

imagenet_256 and imagenet_232, for the two versions of resnet:

    resize         the shorter side to 256 or 232 pixels, triangular filter; the longer side to 8192 at most
    crop           the 224 x 224 pixels in the middle, with the mean of ImageNet where a strip has fewer
    normalise      float32 [3, 224, 224] (value / 255 - mean) / deviation of ImageNet; channels, rows, columns
    DALI_OUTPUT_0

That is what torchvision evaluates IMAGENET1K_V1 (256) and IMAGENET1K_V2 (232) with.

letterbox, for yolov5:

    resize         the longer side to 640 pixels, bilinear as in training, so without a filter
    pad            right and bottom with the grey 114; float32 [3, 640, 640] RGB, 0 to 255
    DALI_OUTPUT_0
    DALI_OUTPUT_1  int32 [2, 3]          height, width and channels, as decoded and as resized

Run it to write the file that Triton's dali backend loads:

    python pipelines/dali_pipe.py model.dali                    # decodes on the CPU, needs no GPU
    python pipelines/dali_pipe.py model.dali --device mixed     # decodes on the GPU
    python pipelines/dali_pipe.py model.dali --graph letterbox
    python pipelines/dali_pipe.py --show photograph.jpg         # what the network will see, in numbers
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from nvidia.dali import fn, pipeline_def, types

try:
    from nvidia.dali._utils import dali_trace
except ImportError:  # DALI below 1.36
    dali_trace = None

INPUT = "DALI_INPUT_0"
SIDE = 299
HALF_RANGE = 127.5

IMAGENET: dict[str, Any] = {
    "mean": [0.485 * 255, 0.456 * 255, 0.406 * 255],
    "std": [0.229 * 255, 0.224 * 255, 0.225 * 255],
}
CROP = 224
LONGEST = 8192  # pixels of a resized side: a strip of 1 x 65535 pixels, 8 kB as a file, would become 13 GB
LETTERBOX, GREY = 640, 114

Device = Literal["cpu", "mixed"]


def _decoded(device: Device) -> Any:
    """``device`` is the decoder's: "cpu", or "mixed" (bytes on the CPU, pixels on the GPU)."""
    encoded = fn.external_source(device="cpu", name=INPUT, dtype=types.UINT8, ndim=1)
    return fn.decoders.image(encoded, device=device, output_type=types.RGB)


def imagenet_preprocessing(device: Device, *, shorter: int) -> Any:
    images = fn.resize(
        _decoded(device),
        size=(shorter, shorter),
        max_size=LONGEST,
        mode="not_smaller",
        interp_type=types.INTERP_LINEAR,
        antialias=True,
    )
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", crop=(CROP, CROP), out_of_bounds_policy="pad", **IMAGENET
    )


def letterbox(device: Device) -> Any:
    images, size = _decoded(device), (LETTERBOX, LETTERBOX)
    resized = fn.resize(images, size=size, mode="not_larger", interp_type=types.INTERP_LINEAR, antialias=False)
    pixels = fn.crop_mirror_normalize(
        resized,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=size,
        crop_pos_x=0.0,
        crop_pos_y=0.0,
        out_of_bounds_policy="pad",
        fill_values=[float(GREY)],
    )
    return pixels, fn.stack(_shape(images), _shape(resized))


def _shape(images: Any) -> Any:
    if hasattr(images, "shape"):
        return images.shape(dtype=types.INT32)
    return fn.shapes(images, dtype=types.INT32)  # type: ignore[attr-defined]  # DALI of older images


def inception_preprocessing(device: Device) -> Any:
    images = _decoded(device)
    images = fn.resize(images, size=(SIDE, SIDE), interp_type=types.INTERP_LINEAR, antialias=True)
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="HWC", mean=[HALF_RANGE] * 3, std=[HALF_RANGE] * 3
    )


class Graph(NamedTuple):
    """A function of the decoder's device, and the types and the numbers of axes of what it returns."""

    define: Callable[[Device], Any]
    output_dtype: list[Any]
    output_ndim: list[int]


GRAPHS = {
    "inception": Graph(inception_preprocessing, [types.FLOAT], [3]),
    "imagenet_256": Graph(partial(imagenet_preprocessing, shorter=256), [types.FLOAT], [3]),
    "imagenet_232": Graph(partial(imagenet_preprocessing, shorter=232), [types.FLOAT], [3]),
    "letterbox": Graph(letterbox, [types.FLOAT, types.INT32], [3, 2]),
}


def make_pipeline(
    device: Device = "cpu",
    graph: str = "inception",
    *,
    batch_size: int = 32,
    num_threads: int = 4,
    device_id: int | None = None,
) -> Any:
    """The pipeline, ready to serialise or to build.

    Args:
        device: see :func:`_decoded`. With "cpu" no GPU and no driver is needed.
        graph: one of GRAPHS.
        batch_size: rows of one run at the most. Triton replaces it by the config's max_batch_size.
        num_threads: threads that decode. Triton replaces it by the config's parameter num_threads.
        device_id: the GPU to run on, which "mixed" needs. To serialise it is not needed, so that a machine without a
            GPU can write the file for one that has it; Triton replaces it by the instance's own.
    """
    made = GRAPHS[graph]

    def define() -> Any:
        return made.define(device)

    with _untraced():
        return pipeline_def(define)(
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=device_id,
            prefetch_queue_depth=1,  # one batch in, its answer out: nothing is read ahead
            output_dtype=made.output_dtype,
            output_ndim=made.output_ndim,
            seed=0,  # nothing here is random, but DALI 1.x would store another seed each time
        )


@contextmanager
def _untraced() -> Iterator[None]:
    """Without what newer DALI stores for its error messages: where each operator was written (path, line, text).

    The same graph would have other bytes in another folder. The switch has no public name yet.
    """
    if dali_trace is None:
        yield
        return
    tracing = dali_trace.is_tracing_enabled()
    dali_trace.set_tracing(enabled=False)
    try:
        yield
    finally:
        dali_trace.set_tracing(enabled=tracing)


def serialize(device: Device = "cpu", graph: str = "inception") -> bytes:
    """The content of model.dali; the same bytes every time.

    Raises:
        RuntimeError: there is no GPU, and DALI 1.35 or older is to write "mixed".
    """
    try:
        serialized: bytes = make_pipeline(device, graph).serialize()
    except RuntimeError as error:
        if "CPU_ONLY_DEVICE_ID" not in str(error):
            raise
        serialized = make_pipeline(device, graph, device_id=0).serialize()
    return serialized


def write(path: Path, device: Device = "cpu", graph: str = "inception") -> None:
    """Write model.dali; it appears whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(serialize(device, graph))
            file.close()
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def preprocess(
    encoded: bytes, device: Device = "cpu", graph: str = "inception"
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the graph makes of one encoded image for the network. Raises RuntimeError for what DALI cannot decode."""
    pipeline = make_pipeline(device, graph, batch_size=1, num_threads=1, device_id=None if device == "cpu" else 0)
    pipeline.build()
    pipeline.feed_input(INPUT, [np.frombuffer(encoded, np.uint8)])
    batch = pipeline.run()[0]
    return np.array(batch.as_cpu().as_array()[0])


def main() -> None:
    about, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", nargs="?", type=Path, help="file to write, model.dali for Triton")
    parser.add_argument("--device", choices=("cpu", "mixed"), default="cpu", help="where images are decoded (cpu)")
    parser.add_argument("--graph", choices=GRAPHS, default="inception", help="the graph (inception)")
    parser.add_argument("--show", type=Path, metavar="IMAGE", help="run the pipeline on this image file instead")
    options = parser.parse_args()
    if (options.output is None) == (options.show is None):
        parser.error("give either a file to write or --show IMAGE")
    if options.show:
        pixels = preprocess(options.show.read_bytes(), options.device, options.graph)
        means = ", ".join(f"{mean:+.3f}" for mean in pixels.mean(axis=(1, 2) if len(pixels) == 3 else (0, 1)))
        extremes = f"from {pixels.min():+.3f} to {pixels.max():+.3f}"
        print(f"{pixels.dtype} {list(pixels.shape)}, {extremes}, RGB means {means}")  # noqa: T201
    else:
        write(options.output, options.device, options.graph)
        print(f"{options.output}: {options.output.stat().st_size} bytes, decodes on {options.device}")  # noqa: T201


if __name__ == "__main__":
    main()
