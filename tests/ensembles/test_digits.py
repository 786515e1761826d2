"""digits on the real server, against the network that scikit-learn trained: held-out digits drawn in every way."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import InferenceServerException

from checkout import ENSEMBLES
from pipelines import train_digits
from tests.ensembles import clients
from tests.ensembles.clients import PHOTOGRAPHS, SIDEWAYS, Array, png, rows, saved
from triton_ensembles.building.built import Built
from triton_ensembles.project.examples.answer import answer_lines
from triton_ensembles.project.examples.folder import read_examples

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
    return saved(picture if mode == "transparent" else picture.convert(mode), format, quality=60)


def infer(client: http.InferenceServerClient, images: Sequence[bytes], model: str = "digits") -> dict[str, Array]:
    """LABEL, SCORE and SCORES."""
    return clients.infer(client, model, {"IMAGE": rows(images)})


@pytest.fixture
def step(built: dict[str, Built], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the step preprocess as it is in the archive, with its packages, to import from."""
    folder = built["digits"].repository / "digits.preprocess" / "1"
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


def test_held_out_digits_are_read_whatever_they_are_drawn_as(client: http.InferenceServerClient) -> None:
    """In one style after the other."""
    pictures, labels, chosen = train_digits.digits()
    files = [drawn(picture, STYLES[number % len(STYLES)]) for number, picture in enumerate(pictures[chosen])]
    answers = [infer(client, files[start : start + 60]) for start in range(0, len(files), 60)]
    found = np.concatenate([answer["LABEL"] for answer in answers])[:, 0].astype(int)
    right = found == labels[chosen]
    assert right.mean() >= 0.95
    for number, style in enumerate(STYLES):
        assert right[number :: len(STYLES)].mean() >= 0.9, style


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
    assert built["digits"].archive.stat().st_size < 5_000_000
    assert not built["digits"].random


def test_the_examples_are_answered_rightly(client: http.InferenceServerClient) -> None:
    """What the README and `make demo` show."""
    for request in read_examples(ENSEMBLES / "digits").requests:
        result = client.infer("digits", request.infer_inputs(), outputs=request.requested_outputs())
        *_, line = answer_lines(result, request)
        score, label = line.split()
        assert (float(score) > 0.99, label) == (True, {"three.json": "3", "eight.json": "8"}[request.path.name])


def test_a_picture_that_cannot_be_read_fails_its_own_request(client: http.InferenceServerClient) -> None:
    good = drawn(train_digits.digits()[0][0], STYLES[0])
    photograph = PHOTOGRAPHS[0].read_bytes()
    for bad, reason in (
        (saved(Image.new("L", (9, 9)), "GIF"), "neither a PNG nor a JPEG"),
        (b"", "neither a PNG nor a JPEG"),
        (good[:-20], "damaged, cut off"),
        (good[:30], "neither a PNG nor a JPEG|cut off"),
        (good[:45] + b"\x01" + good[46:], "damaged"),
        (png(100_000, 100_000, b""), "100000 x 100000 pixels are more"),
        (photograph[: len(photograph) // 2], "damaged, cut off"),
    ):
        with pytest.raises(InferenceServerException, match=f"row 1 of IMAGE.*{reason}"):
            infer(client, [good, bad])
    assert infer(client, [good, photograph])["LABEL"].shape == (2, 1)


def test_16_bits_are_gray_too_and_a_picture_is_upright_as_its_exif_says(step: Path) -> None:
    import picture

    levels = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    gray, opacity = picture.decode(saved(Image.fromarray(levels), "PNG"))
    np.testing.assert_allclose(gray, levels / 257, atol=1e-3)
    assert opacity.min() == 1
    photograph = Image.open(PHOTOGRAPHS[0]).resize((64, 48))
    gray, _ = picture.decode(saved(photograph, "JPEG", exif=SIDEWAYS))
    expected = np.rot90(np.asarray(photograph.convert("L"), np.float32), -1)
    assert gray.shape == expected.shape
    assert np.abs(gray - expected).mean() < 8  # what JPEG leaves of it
