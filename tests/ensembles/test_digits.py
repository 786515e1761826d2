"""digits on the real server, against the network that scikit-learn trained: held-out digits drawn in every way."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import InferenceServerException

from pipelines import train_digits
from tests.ensembles.clients import PHOTOGRAPHS
from triton_ensembles.building.built import Built
from triton_ensembles.examples.answer import answer_lines
from triton_ensembles.examples.folder import read_examples
from triton_ensembles.triton.server import TritonServer

Array = npt.NDArray[Any]
SEED = 1797  # as in the recipe
NEAREST, LANCZOS, BILINEAR, BICUBIC = Image.Resampling(0), Image.Resampling(1), Image.Resampling(2), Image.Resampling(3)
# Side in pixels, resampling, mode, dark ink on bright paper, margin, format.
STYLES: list[tuple[int, Image.Resampling, str, bool, int, str]] = [
    (8, NEAREST, "L", False, 0, "PNG"),
    (20, BILINEAR, "RGB", True, 6, "JPEG"),
    (28, BICUBIC, "L", True, 0, "JPEG"),
    (33, LANCZOS, "RGBA", False, 3, "PNG"),
    (64, BILINEAR, "transparent", True, 10, "PNG"),
    (64, NEAREST, "P", True, 1, "PNG"),
    (120, BICUBIC, "LA", False, 30, "PNG"),
    (200, BICUBIC, "RGB", False, 0, "JPEG"),
]


def drawn(digit: Array, style: tuple[int, Image.Resampling, str, bool, int, str]) -> bytes:
    """A file with the picture uint8 [8, 8] of bright ink on black, drawn in a style."""
    side, resampling, mode, dark, margin, format = style
    canvas = Image.new("L", (side + 2 * margin, side + margin))
    canvas.paste(Image.fromarray(digit).resize((side, side), resampling), (margin, margin // 2))
    picture = canvas.point(lambda value: 255 - value) if dark else canvas
    if mode == "transparent":  # ink of one color on nothing
        picture = Image.new("RGBA", canvas.size, (90, 0, 0))
        picture.putalpha(canvas)
    elif mode == "RGBA":
        picture = picture.convert("RGBA")
    stream = io.BytesIO()
    (picture if mode == "transparent" else picture.convert(mode)).save(stream, format, quality=60)
    return stream.getvalue()


def infer(client: http.InferenceServerClient, images: Sequence[bytes], model: str = "digits") -> dict[str, Array]:
    """LABEL, SCORE and SCORES. Files of different lengths in one request: the shorter ones end in zeros."""
    rows = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(rows, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    tensor = http.InferInput("IMAGE", list(rows.shape), "UINT8")
    tensor.set_data_from_numpy(rows)
    result = client.infer(model, [tensor])
    return {name: result.as_numpy(name) for name in ("LABEL", "SCORE", "SCORES")}


@pytest.fixture(scope="module")
def held_out() -> tuple[list[bytes], Array]:
    """Every held-out digit, in one style after the other, and the labels."""
    pictures, labels, chosen = train_digits.digits()
    files = [drawn(picture, STYLES[number % len(STYLES)]) for number, picture in enumerate(pictures[chosen])]
    return files, labels[chosen]


@pytest.fixture
def client(built: dict[str, Built], triton_server: Callable[..., TritonServer]) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(triton_server(built["digits"].repository).http_url) as client:
        yield client


@pytest.fixture
def step(built: dict[str, Built], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the step preprocess as it is in the archive, with its packages, to import from."""
    folder = built["digits"].repository / "digits.preprocess" / "1"
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name in [name for name, module in sys.modules.items() if _is_in(module, folder)]:
        del sys.modules[name]


def _is_in(module: ModuleType, folder: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(folder))


def test_held_out_digits_are_read_whatever_they_are_drawn_as(
    client: http.InferenceServerClient, held_out: tuple[list[bytes], Array]
) -> None:
    files, labels = held_out
    answers = [infer(client, files[start : start + 60]) for start in range(0, len(files), 60)]
    found = np.concatenate([answer["LABEL"] for answer in answers])[:, 0].astype(int)
    assert (found == labels).mean() >= 0.95
    for number, style in enumerate(STYLES):
        right = (found == labels)[number :: len(STYLES)]
        assert right.mean() >= 0.9, style


def test_answers_are_those_of_scikit_learn(client: http.InferenceServerClient, step: Path) -> None:
    """Otherwise the ONNX file, or the way to it, is not what was trained."""
    import digit

    network = train_digits.train(SEED)
    pictures = train_digits.digits()[0][::40]
    expected = network.predict_proba(np.stack([digit.ink(each).reshape(-1) for each in pictures]))
    found = infer(client, [drawn(each, STYLES[0]) for each in pictures])
    np.testing.assert_allclose(found["SCORES"], expected, atol=1e-5)
    np.testing.assert_allclose(found["SCORE"][:, 0], expected.max(axis=1), atol=1e-5)
    assert found["LABEL"][:, 0].astype(int).tolist() == expected.argmax(axis=1).tolist()


def test_the_same_seed_gives_the_same_small_archive(built: dict[str, Built]) -> None:
    """Trained again, in another process, with another number of threads, it is the file that the build has made."""
    model = built["digits"].repository / "digits.network" / "1" / "model.onnx"
    assert train_digits.onnx_of(train_digits.train(SEED)) == model.read_bytes()
    assert train_digits.onnx_of(train_digits.train(SEED + 1)) != model.read_bytes()
    assert built["digits"].archive.stat().st_size < 1_000_000
    assert not built["digits"].random


def test_the_examples_are_answered_rightly(client: http.InferenceServerClient) -> None:
    """What the README and `make demo` show."""
    for request in read_examples(Path(__file__).parents[2] / "ensembles" / "digits").requests:
        result = client.infer("digits", request.infer_inputs(), outputs=request.requested_outputs())
        *_, line = answer_lines(result, request)
        score, label = line.split()
        assert (float(score) > 0.99, label) == (True, {"three.json": "3", "eight.json": "8"}[request.path.name])


def test_a_picture_that_cannot_be_read_fails_its_own_request(client: http.InferenceServerClient) -> None:
    good = drawn(train_digits.digits()[0][0], STYLES[0])
    photograph = PHOTOGRAPHS[0].read_bytes()
    huge = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">II5B", 100_000, 100_000, 8, 0, 0, 0, 0))
    short = io.BytesIO()
    Image.new("L", (9, 9)).save(short, "PNG")
    for bad, reason in (
        (b"GIF89a", "neither a PNG nor a JPEG"),
        (b"", "neither a PNG nor a JPEG"),
        (good[:-20], "cut off"),
        (good[:60] + b"\x01" + good[61:], "damaged"),
        (huge, "100000 x 100000 pixels is larger"),
        (photograph[: len(photograph) // 2], "damaged, cut off or too large"),
        (short.getvalue()[:30], "cut off"),
    ):
        with pytest.raises(InferenceServerException, match=f"row 1 of IMAGE.*{reason}"):
            infer(client, [good, bad])
    assert infer(client, [good, photograph])["LABEL"].shape == (2, 1)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", len(data), kind) + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (7, 3), (61, 97)])
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("1", {}),
        ("L", {}),
        ("LA", {}),
        ("RGB", {}),
        ("RGBA", {}),
        ("P", {}),
        ("P", {"bits": 2}),
        ("P", {"bits": 4, "transparency": 3}),
        ("RGB", {"transparency": (0, 0, 0)}),
        ("I;16", {}),
    ],
)
def test_png_is_read_as_by_pillow(step: Path, size: tuple[int, int], mode: str, options: dict[str, Any]) -> None:
    """Of every color type and depth; a photograph makes Pillow use every filter."""
    import png

    photograph = Image.open(PHOTOGRAPHS[0]).resize(size)
    if mode == "P":
        picture = photograph.convert("P", palette=Image.Palette.ADAPTIVE, colors=1 << options.get("bits", 8))
    elif mode == "I;16":
        picture = Image.fromarray(np.asarray(photograph.convert("L")).astype(np.uint16) * 201)
    else:
        picture = photograph.convert("RGBA")
        picture.putalpha(photograph.convert("L"))
        picture = picture.convert(mode)
    stream = io.BytesIO()
    picture.save(stream, "PNG", **options)
    gray, opacity = png.decode(stream.getvalue(), 1 << 20)
    again = Image.open(io.BytesIO(stream.getvalue()))
    if mode == "I;16":
        expected, alpha = np.asarray(again) / 65535 * 255, np.ones(size[::-1])
    else:
        colors = np.asarray(again.convert("RGBA"), np.float32)
        expected, alpha = colors[..., :3] @ np.array([0.299, 0.587, 0.114]), colors[..., 3] / 255
    np.testing.assert_allclose(gray, expected, atol=1e-3)
    np.testing.assert_allclose(np.ones_like(gray) if opacity is None else opacity, alpha, atol=1e-6)


@pytest.mark.parametrize("size", [(1, 1), (2, 5), (5, 2), (9, 9), (33, 18)])
@pytest.mark.parametrize(("depth", "color", "channels"), [(8, 0, 1), (8, 6, 4), (16, 2, 3), (2, 0, 1)])
def test_an_interlaced_png_is_the_same_picture(
    step: Path, size: tuple[int, int], depth: int, color: int, channels: int
) -> None:
    """Pillow writes none, so the passes are written here."""
    import png

    width, height = size
    values = np.random.default_rng(0).integers(0, 1 << depth, (height, width, channels))
    plain, interlaced = (_png(values, depth, color, passes) for passes in ([(0, 0, 1, 1)], png._ADAM7))
    for one, other in zip(png.decode(plain, 1 << 20), png.decode(interlaced, 1 << 20), strict=True):
        np.testing.assert_array_equal(one, other)


def _png(values: Array, depth: int, color: int, passes: Sequence[tuple[int, int, int, int]]) -> bytes:
    data = b""
    for left, top, across, down in passes:
        part = values[top::down, left::across]
        if part.size:
            bits = (part[..., None] >> np.arange(depth)[::-1] & 1).reshape(len(part), -1)
            data += b"".join(b"\0" + row.tobytes() for row in np.packbits(bits.astype(np.uint8), axis=1))
    header = struct.pack(">II5B", values.shape[1], values.shape[0], depth, color, 0, 0, int(len(passes) > 1))
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(("mode", "options"), [("L", {}), ("RGB", {"progressive": True}), ("CMYK", {})])
def test_jpeg_is_read_as_by_pillow(step: Path, orientation: int, mode: str, options: dict[str, Any]) -> None:
    """A picture that was taken with the camera turned is upright, by its EXIF orientation."""
    import jpeg
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    stream = io.BytesIO()
    Image.open(PHOTOGRAPHS[0]).resize((64, 48)).convert(mode).save(stream, "JPEG", exif=exif, **options)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(stream.getvalue()))).convert("RGB").convert("L")
    found = jpeg.decode(stream.getvalue(), 1 << 20)
    assert found.shape == np.asarray(expected).shape
    assert np.abs(found - np.asarray(expected, np.float32)).mean() < 2
