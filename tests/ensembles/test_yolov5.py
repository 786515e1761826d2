"""yolov5 on the real server, against the same computations in torch and in loops, on photographs."""

import io
import math
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from tritonclient.utils import InferenceServerException

from ensembles.yolov5.yolox import Yolox
from ensembles.yolov5.yolox import fill as fill_yolox
from pipelines.dali_pipe import preprocess
from tests.ensembles.clients import SHOTS, Array, infer, rows
from tests.ensembles.conftest import YOLO
from triton_ensembles.building.places import Places
from triton_ensembles.project.examples.answer import answer_lines
from triton_ensembles.project.examples.folder import read_examples

pytestmark = pytest.mark.slow

SCORE, IOU, MOST = 0.25, 0.45, 100  # as in the recipe
LONGEST = 10  # of the logarithm of a side, in strides: beyond it, boxes are taken to be as long as this


def expected_objects(predictions: Array, sizes: Array, *, decoded: bool) -> list[tuple[float, int, list[float]]]:
    """Score, class and box of each object, by loops: no line in common with the step."""
    (height, width, _), (rows_, columns, _) = sizes.tolist()
    cells = [(x, y, 640 // side) for side in (80, 40, 20) for y in range(side) for x in range(side)]
    objects = []
    for number in np.flatnonzero(predictions[:, 4]):
        row = predictions[number].astype(np.float64).tolist()
        kind = max(range(80), key=lambda index: row[5 + index])
        score = row[4] * row[5 + kind]
        if score < SCORE:
            continue
        x, y, w, h = row[:4]
        if not decoded:
            column, line, stride = cells[number]
            x, y = (x + column) * stride, (y + line) * stride
            w, h = (math.exp(min(side, LONGEST)) * stride for side in (w, h))
        objects.append((score, kind, [x - w / 2, y - h / 2, x + w / 2, y + h / 2]))
    objects.sort(key=lambda each: -each[0])
    kept: list[tuple[float, int, list[float]]] = []
    for score, kind, box in objects:
        if all(kind != other or overlap(box, better) <= IOU for _, other, better in kept):
            kept.append((score, kind, box))
    scale = [width / columns, height / rows_] * 2
    limits = [width, height] * 2
    return [
        (score, kind, [min(max(side * by, 0), most) for side, by, most in zip(box, scale, limits, strict=True)])
        for score, kind, box in kept[:MOST]
    ]


def overlap(one: list[float], other: list[float]) -> float:
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    both = sum(areas) - wide * high
    return wide * high / both if both else 0.0


def assert_objects(outputs: dict[str, Array], number: int, expected: list[tuple[float, int, list[float]]]) -> None:
    count = int(outputs["COUNT"][number, 0])
    assert count == len(expected)
    np.testing.assert_allclose(outputs["SCORES"][number, :count], [each[0] for each in expected], rtol=1e-3)
    assert outputs["CLASSES"][number, :count].tolist() == [each[1] for each in expected]
    boxes = np.array([each[2] for each in expected]).reshape(-1, 4)
    np.testing.assert_allclose(outputs["BOXES"][number, :count], boxes, atol=0.1)
    assert not outputs["SCORES"][number, count:].any() and not any(outputs["LABELS"][number, count:])


@pytest.fixture(scope="module")
def yolox() -> Yolox:
    network = Yolox(width=25).eval()
    fill_yolox(network, 2021)  # as in the recipe
    return network


@pytest.mark.parametrize("names", [["china"], ["flower"], ["turned", "small", "china"]])
def test_yolo_finds_what_torch_finds(small_client: Any, yolox: Yolox, names: list[str]) -> None:
    outputs = infer(small_client, YOLO, {"IMAGE": rows([SHOTS[name] for name in names])})
    counts = []
    for number, name in enumerate(names):
        pixels = preprocess(SHOTS[name], "cpu", "letterbox")
        with torch.inference_mode():
            (predictions,) = yolox(torch.from_numpy(pixels[::-1].copy()[None])).numpy()  # BGR
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(SHOTS[name])))
        scale = 640 / max(upright.size)
        sides = (upright.height, upright.width)
        sizes = np.array([[*sides, 3], [*(round(side * scale) for side in sides), 3]])
        expected = expected_objects(predictions, sizes, decoded=False)
        assert_objects(outputs, number, expected)
        counts.append(len(expected))
    assert max(counts) > 0


@pytest.mark.parametrize(("cells", "decoded"), [(8400, False), (25200, True)])
def test_the_step_takes_both_heads(small_client: Any, cells: int, decoded: bool) -> None:
    generator = np.random.default_rng(cells)
    predictions = generator.random((2, cells, 85), dtype=np.float32)
    predictions[..., :4] = predictions[..., :4] * 600 + 5 if decoded else predictions[..., :4] * 2
    predictions[..., 4] *= generator.random((2, cells)) < 0.2  # more than a thousand candidates
    predictions[1, :, 4] = 0  # nothing in the second image
    sizes = np.array([[[1200, 800, 3], [640, 427, 3]], [[10, 2000, 3], [3, 640, 3]]], np.int32)
    outputs = infer(small_client, f"{YOLO}.postprocess", {"PREDICTIONS": predictions, "SIZES": sizes})
    for number in range(2):
        assert_objects(outputs, number, expected_objects(predictions[number], sizes[number], decoded=decoded))
    assert outputs["COUNT"].tolist()[1] == [0]


def test_an_image_without_objects_and_a_wrong_head_are_answered(small_client: Any) -> None:
    sizes = np.array([[[10, 10, 3], [640, 640, 3]]], np.int32)
    step, nothing = f"{YOLO}.postprocess", np.zeros((1, 8400, 85), np.float32)
    empty = infer(small_client, step, {"PREDICTIONS": nothing, "SIZES": sizes})
    assert empty["COUNT"].tolist() == [[0]] and empty["BOXES"].shape == (1, 0, 4)
    with pytest.raises(InferenceServerException, match="returns 84 rows, and YOLOX has 8400, YOLOv5 25200"):
        infer(small_client, step, {"PREDICTIONS": nothing[:, :84], "SIZES": sizes})


def test_the_demo_draws_the_boxes(small_client: Any, small_places: Places) -> None:
    for request in read_examples(small_places.ensembles / YOLO).requests:
        result = small_client.infer(YOLO, request.infer_inputs(), outputs=request.requested_outputs())
        lines = answer_lines(result, request)
        picture = small_places.reports / "demo" / f"{YOLO}-{request.path.stem}.png"
        assert lines[-1].endswith(f"objects, drawn in reports/demo/{picture.name}")
        drawn, photograph = Image.open(picture), Image.open(request.path.with_suffix(".jpg"))
        assert drawn.size == photograph.size
        red = (np.asarray(drawn) == [255, 0, 0]).all(axis=2).sum()
        assert red > 100 or lines[-1].strip().startswith("0 objects")
