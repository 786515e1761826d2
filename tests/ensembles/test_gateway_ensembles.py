"""resnet, yolov5 and bert_base on the real server, against the same computations in torch, on photographs and texts."""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import tritonclient.http as http
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from PIL import Image, ImageOps
from tritonclient.utils import InferenceServerException

from checkout import ROOT
from ensembles.bert_base.make_model import fill as fill_bert
from ensembles.yolov5.yolox import Yolox
from ensembles.yolov5.yolox import fill as fill_yolox
from pipelines.dali_pipe import preprocess
from pipelines.make_resnet50 import ResNet50
from pipelines.make_resnet50 import fill as fill_resnet
from tests.ensembles.clients import PHOTOGRAPHS
from tests.ensembles.small import BERT, BERT_OPTIONS, BLOCKS, NAMES, RESNET, RESNET_SEEDS, YOLO, YOLO_OPTIONS
from triton_ensembles.archive.clones import clone
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built, choose
from triton_ensembles.building.gateway import ensembles_of, stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.building.plan import plan_build
from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.answer import answer_lines
from triton_ensembles.examples.folder import read_examples
from triton_ensembles.gateway.table import read_table
from triton_ensembles.triton.gateway_server import GatewayServer
from triton_ensembles.triton.targets import CPU, fused

Array = npt.NDArray[Any]
SCORE, IOU, MOST = 0.25, 0.45, 100  # as in the recipe


def rows(images: Sequence[bytes]) -> Array:
    """Images of different lengths in one request: the shorter ones end in zeros."""
    batch = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(batch, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return batch


def ask(
    client: http.InferenceServerClient, model: str, inputs: Mapping[str, Array], version: str = ""
) -> dict[str, Array]:
    types = {"uint8": "UINT8", "float32": "FP32", "int32": "INT32", "object": "BYTES"}
    tensors = [http.InferInput(name, list(each.shape), types[each.dtype.name]) for name, each in inputs.items()]
    for tensor, values in zip(tensors, inputs.values(), strict=True):
        tensor.set_data_from_numpy(np.ascontiguousarray(values))
    result = client.infer(model, tensors, model_version=version)
    return {each["name"]: result.as_numpy(each["name"]) for each in result.get_response()["outputs"]}


def shots() -> dict[str, bytes]:
    """The photographs, upright and lying on their side by their EXIF orientation, and one of odd and small sides."""
    found = {path.stem: path.read_bytes() for path in PHOTOGRAPHS}
    exif = Image.Exif()
    exif[0x0112] = 6
    made = {"turned": (Image.open(PHOTOGRAPHS[0]), {"exif": exif}), "small": (Image.open(PHOTOGRAPHS[1]), {})}
    for name, (picture, options) in made.items():
        stream = io.BytesIO()
        (picture.resize((97, 61)) if name == "small" else picture).save(stream, "JPEG", quality=90, **options)
        found[name] = stream.getvalue()
    return found


SHOTS = shots()


# resnet


def expected_classes(version: int, image: bytes) -> tuple[Array, Array]:
    network = ResNet50(BLOCKS).eval()
    fill_resnet(network, RESNET_SEEDS[version])
    pixels = preprocess(image, "cpu", {1: "imagenet_256", 2: "imagenet_232"}[version])
    with torch.inference_mode():
        probabilities = network(torch.from_numpy(pixels[None])).softmax(1)[0]
    best = probabilities.topk(5)
    return best.indices.numpy(), best.values.numpy()


def test_resnet_answers_with_the_best_labels_of_torch(small_client: Any, small: dict[str, Built]) -> None:
    found = ask(small_client, RESNET, {"IMAGE": rows(list(SHOTS.values()))})
    folder = small[RESNET].repository / f"{RESNET}.postprocess" / "1"
    labels = (folder / "imagenet_classes.txt").read_text().splitlines()
    for number, image in enumerate(SHOTS.values()):
        classes, scores = expected_classes(2, image)
        np.testing.assert_array_equal(found["CLASSES"][number], classes)
        np.testing.assert_allclose(found["SCORES"][number], scores, rtol=1e-3)
        assert [label.decode() for label in found["LABELS"][number]] == [labels[each] for each in classes]
    assert np.ptp(found["SCORES"][:, 0]) > 0.01  # the network tells them apart; else agreement would prove nothing


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_of_resnet_are_served(small_client: Any, version: int) -> None:
    """Each with its own preprocessing and its own weights."""
    image = SHOTS["china"]
    pixels = ask(small_client, f"{RESNET}.preprocess", {"DALI_INPUT_0": rows([image])}, str(version))["DALI_OUTPUT_0"]
    logits = ask(small_client, f"{RESNET}.resnet50", {"input": pixels}, str(version))["output"]
    answer = ask(small_client, f"{RESNET}.postprocess", {"LOGITS": logits})
    classes, scores = expected_classes(version, image)
    np.testing.assert_array_equal(answer["CLASSES"][0], classes)
    np.testing.assert_allclose(answer["SCORES"][0], scores, rtol=1e-3)


def test_both_versions_are_in_the_manifest_and_in_clones(small: dict[str, Built], tmp_path: Path) -> None:
    assert {f"resnet50/{version}/model.xml" for version in (1, 2)} <= small[RESNET].manifest["artifacts"].keys()
    digests = {small[RESNET].manifest["artifacts"][f"resnet50/{each}/model.bin"]["sha256"] for each in (1, 2)}
    assert len(digests) == 2
    (copied,) = clone(small[RESNET].archive, ["tenant"], tmp_path)
    import tarfile

    with tarfile.open(copied) as archive:
        members = set(archive.getnames())
    assert {f"tenant.resnet50/{version}/model.bin" for version in (1, 2)} <= members


def test_fused_holds_the_version_that_its_dag_runs(small_places: Places) -> None:
    """The other one would only make the archive larger."""
    plan = plan_build(small_places.ensembles / RESNET, fused(), small_places.root)
    paths = {artifact.path for artifact in plan.artifacts}
    assert {"resnet50/2/model.onnx", "preprocess/2/model.dali", "postprocess/1/imagenet_classes.txt"} == paths


# yolov5

LONGEST = 10  # of the logarithm of a side, in strides: beyond it, boxes are taken to be as long as this


def expected_objects(predictions: Array, sizes: Array, *, decoded: bool) -> list[tuple[float, int, list[float]]]:
    """Score, class and box of each object, by loops: no line in common with the step."""
    (height, width, _), (rows_, columns, _) = sizes.tolist()
    cells = [(x, y, 640 // side) for side in (80, 40, 20) for y in range(side) for x in range(side)]
    found = []
    for number in np.flatnonzero(predictions[:, 4]):
        row = predictions[number].astype(np.float64).tolist()
        if not all(map(math.isfinite, row)):
            continue
        kind = max(range(80), key=lambda index: row[5 + index])
        score = row[4] * row[5 + kind]
        if score < SCORE:
            continue
        x, y, w, h = row[:4]
        if not decoded:
            column, line, stride = cells[number]
            x, y = (x + column) * stride, (y + line) * stride
            w, h = (math.exp(min(side, LONGEST)) * stride for side in (w, h))
        found.append((score, kind, [x - w / 2, y - h / 2, x + w / 2, y + h / 2]))
    found.sort(key=lambda each: -each[0])
    kept: list[tuple[float, int, list[float]]] = []
    for score, kind, box in found:
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


def assert_objects(found: dict[str, Array], number: int, expected: list[tuple[float, int, list[float]]]) -> None:
    count = int(found["COUNT"][number, 0])
    assert count == len(expected)
    np.testing.assert_allclose(found["SCORES"][number, :count], [each[0] for each in expected], rtol=1e-3)
    assert found["CLASSES"][number, :count].tolist() == [each[1] for each in expected]
    boxes = np.array([each[2] for each in expected]).reshape(-1, 4)
    np.testing.assert_allclose(found["BOXES"][number, :count], boxes, atol=0.1)
    assert not found["SCORES"][number, count:].any() and not any(found["LABELS"][number, count:])


@pytest.fixture(scope="module")
def yolox() -> Yolox:
    network = Yolox(width=YOLO_OPTIONS["width"]).eval()
    fill_yolox(network, YOLO_OPTIONS["seed"])
    return network


@pytest.mark.parametrize("names", [["china"], ["flower"], ["turned", "small", "china"]])
def test_yolo_finds_what_torch_finds(small_client: Any, yolox: Yolox, names: list[str]) -> None:
    found = ask(small_client, YOLO, {"IMAGE": rows([SHOTS[name] for name in names])})
    counts = []
    for number, name in enumerate(names):
        pixels = preprocess(SHOTS[name], "cpu", "letterbox")
        with torch.inference_mode():
            (predictions,) = yolox(torch.from_numpy(pixels[::-1].copy()[None])).numpy()  # BGR
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(SHOTS[name])))
        scale = 640 / max(upright.size)
        sizes = np.array(
            [[upright.height, upright.width, 3], [round(upright.height * scale), round(upright.width * scale), 3]]
        )
        expected = expected_objects(predictions, sizes, decoded=False)
        assert_objects(found, number, expected)
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
    found = ask(small_client, f"{YOLO}.postprocess", {"PREDICTIONS": predictions, "SIZES": sizes})
    for number in range(2):
        assert_objects(found, number, expected_objects(predictions[number], sizes[number], decoded=decoded))
    assert found["COUNT"].tolist()[1] == [0]


# Exact in half and single precision, so that no rounding decides which of two equal scores is first.
SHARES = some.sampled_from([0.25, 0.5, 0.75, 1.0])
BROKEN = some.sampled_from([math.nan, math.inf])


@some.composite
def detections(draw: some.DrawFn, cells: int) -> Array:
    """A few objects close to each other, of few classes and scores; some rows are broken, as of an overflow."""
    rows_ = np.zeros((1, cells, 85), np.float32)
    for cell in draw(some.lists(some.integers(0, cells - 1), max_size=9, unique=True)):
        row = rows_[0, cell]
        if cells == 8400:  # the same box from cells of any stride, or one around the cell
            x, y = draw(some.sampled_from([(0.5, 0.5), (-70.0, 3.0)]))
            row[:4] = x, y, draw(some.sampled_from([-2.0, 1.5, 200.0])), 2
        else:
            row[:4] = [draw(some.integers(-2, 12)) * 60 for _ in "xy"] + [draw(some.integers(0, 4)) * 30 for _ in "wh"]
        row[4] = draw(SHARES)
        for kind in draw(some.sets(some.sampled_from([0, 1, 79]), min_size=1)):
            row[5 + kind] = draw(SHARES)
        if draw(some.integers(0, 5)) == 0:
            row[draw(some.sampled_from([0, 3, 4, 5, 84]))] = draw(BROKEN)
    return rows_


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=some.data(), width=some.integers(1, 2001), height=some.integers(1, 2001))
def test_ties_broken_rows_and_boxes_outside_of_the_picture(
    small_client: Any, data: some.DataObject, width: int, height: int
) -> None:
    cells = data.draw(some.sampled_from([8400, 25200]))
    predictions = data.draw(detections(cells))
    longer = max(width, height)
    sizes = np.array([[[height, width, 3], [max(1, round(each * 640 / longer)) for each in (height, width)] + [3]]])
    inputs = {"PREDICTIONS": predictions, "SIZES": sizes.astype(np.int32)}
    found = ask(small_client, f"{YOLO}.postprocess", inputs)
    assert_objects(found, 0, expected_objects(predictions[0], sizes[0], decoded=cells == 25200))


def test_a_side_whose_exponential_overflows_is_very_long(small_client: Any) -> None:
    """Half precision makes such rows. Boxes without an end would have no overlap that can be compared."""
    predictions = np.zeros((1, 8400, 85), np.float32)
    for cell in (0, 8399):  # of the finest and the coarsest stride, so that one box is 16 times as large
        predictions[0, cell, :6] = 0.5, 0.5, 200, 2, 1, 1
    sizes = np.array([[[400, 640, 3], [400, 640, 3]]], np.int32)
    found = ask(small_client, f"{YOLO}.postprocess", {"PREDICTIONS": predictions, "SIZES": sizes})
    assert_objects(found, 0, expected_objects(predictions[0], sizes[0], decoded=False))
    assert found["COUNT"].tolist() == [[2]]


def test_an_image_without_objects_and_a_wrong_head_are_answered(small_client: Any) -> None:
    sizes = np.array([[[10, 10, 3], [640, 640, 3]]], np.int32)
    empty = ask(
        small_client, f"{YOLO}.postprocess", {"PREDICTIONS": np.zeros((1, 8400, 85), np.float32), "SIZES": sizes}
    )
    assert empty["COUNT"].tolist() == [[0]] and empty["BOXES"].shape == (1, 0, 4)
    with pytest.raises(InferenceServerException, match="returns 84 rows, and YOLOX has 8400, YOLOv5 25200"):
        ask(small_client, f"{YOLO}.postprocess", {"PREDICTIONS": np.zeros((1, 84, 85), np.float32), "SIZES": sizes})
    with pytest.raises(InferenceServerException, match="row 1 of DALI_INPUT_0: not an image"):
        ask(small_client, YOLO, {"IMAGE": rows([SHOTS["china"], b"no image"])})


def test_the_demo_draws_the_boxes(small_client: Any, small_places: Places) -> None:
    for request in read_examples(small_places.ensembles / YOLO).requests:
        result = small_client.infer(YOLO, request.infer_inputs(), outputs=request.requested_outputs())
        lines = answer_lines(result, request)
        picture = small_places.reports / "demo" / f"{YOLO}-{request.path.stem}.png"
        assert lines[-1].endswith(f"objects, drawn in reports/demo/{picture.name}")
        drawn, given = Image.open(picture), Image.open(request.path.with_suffix(".jpg"))
        assert drawn.size == given.size
        red = (np.asarray(drawn) == [255, 0, 0]).all(axis=2).sum()
        assert red > 100 or lines[-1].strip().startswith("0 objects")


# bert_base

TEXTS = [
    "The capital of France is [MASK].",
    "[MASK] opened the door.",
    "Übung macht den [MASK], said the carpenter while it was raining outside.",
]


@pytest.fixture(scope="module")
def words(small: dict[str, Built]) -> Path:
    return small[BERT].repository / f"{BERT}.preprocess" / "1" / "vocab.txt"


def test_bert_fills_in_the_words_of_transformers(small_client: Any, words: Path) -> None:
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    model = BertForMaskedLM(BertConfig(num_hidden_layers=BERT_OPTIONS["layers"])).eval()
    fill_bert(model, BERT_OPTIONS["seed"])
    tokenizer = BertTokenizer(str(words))
    found = ask(small_client, BERT, {"TEXT": np.array([[text.encode()] for text in TEXTS], dtype=np.object_)})
    for number, text in enumerate(TEXTS):
        encoded = tokenizer(text, return_tensors="pt")
        place = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.inference_mode():
            best = model(**encoded).logits[0, place].softmax(0).topk(5)
        expected = tokenizer.convert_ids_to_tokens(best.indices.tolist())
        assert [word.decode() for word in found["TOKENS"][number]] == expected
        np.testing.assert_allclose(found["SCORES"][number], best.values, rtol=1e-3)
    assert len({tuple(row) for row in found["TOKENS"].tolist()}) == len(TEXTS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"no mask", r"row 1 of TEXT has 0 times \[MASK\]"),
        (b"[MASK] and [MASK]", r"row 1 of TEXT has 2 times \[MASK\]"),
        (b"[MASK] \xff", "row 1 of TEXT is not valid UTF-8: invalid start byte at byte 7"),
        (b"[MASK]" + b" word" * 600, "row 1 of TEXT has 603 tokens, and BERT takes 512"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_its_row(small_client: Any, text: bytes, reason: str) -> None:
    with pytest.raises(InferenceServerException, match=reason):
        ask(small_client, BERT, {"TEXT": np.array([[TEXTS[0].encode()], [text]], dtype=np.object_)})


# The gateway before all three


def post(server: GatewayServer, **body: Any) -> Any:
    request = urllib.request.Request(f"http://{server.sagemaker_url}/invocations", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(("asked", "version"), [({"version": "1"}, 1), ({"version": 2}, 2), ({}, 2)])
def test_each_version_of_resnet_answers_by_its_number(
    small_server: GatewayServer, small: dict[str, Built], asked: dict[str, Any], version: int
) -> None:
    image = SHOTS["flower"]
    found = post(small_server, modelname=RESNET, payload={"img": base64.b64encode(image).decode()}, **asked)
    classes, scores = expected_classes(version, image)
    labels = (small[RESNET].repository / f"{RESNET}.postprocess/1/imagenet_classes.txt").read_text().splitlines()
    assert found["version"] == str(version)
    assert [each["label"] for each in found["result"]] == [labels[each] for each in classes]
    np.testing.assert_allclose([each["score"] for each in found["result"]], scores, rtol=1e-3)


def test_objects_and_words_are_answered_as_lists(small_server: GatewayServer, small_client: Any) -> None:
    image = SHOTS["china"]
    found = post(small_server, modelname=YOLO, payload={"img": base64.b64encode(image).decode()})
    direct = ask(small_client, YOLO, {"IMAGE": rows([image])})
    assert len(found["result"]) == direct["COUNT"][0, 0]
    np.testing.assert_allclose([each["box"] for each in found["result"]], direct["BOXES"][0], atol=0.01)
    words = post(small_server, modelname=BERT, payload={"text": TEXTS[0]})["result"]
    direct = ask(small_client, BERT, {"TEXT": np.array([[TEXTS[0].encode()]], dtype=np.object_)})
    assert [each["token"].encode() for each in words] == direct["TOKENS"][0].tolist()


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def png(width: int, height: int, lines: bytes, *, bits: int = 8, interlaced: bool = False) -> bytes:
    """RGB, as Pillow does not write it."""
    head = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, interlaced)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    )


def unfiltered(pixels: Array) -> bytes:
    return b"".join(b"\0" + line.tobytes() for line in pixels)


def pictures() -> list[tuple[str, bytes, Image.Image | None]]:
    """What clients send as an image, and the pixels that it stands for; None for what is refused."""
    given = Image.open(PHOTOGRAPHS[0]).convert("RGB").resize((321, 215))
    exif = Image.Exif()
    exif[0x0112] = 6
    gray, palette, clear = given.convert("L"), given.convert("P"), given.convert("RGBA")
    clear.putalpha(128)
    jpeg = saved(given, "JPEG", quality=95)
    pixels, passes = np.asarray(given), ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4))
    adam7 = b"".join(
        unfiltered(pixels[y::down, x::right]) for x, y, right, down in (*passes, (1, 0, 2, 2), (0, 1, 1, 2))
    )
    strip = Image.effect_noise((2, 65535), 50).convert("RGB")  # resized as others are, it would be 6 GB
    good = {
        "gray JPEG": (saved(gray, "JPEG", quality=95), gray),
        "CMYK JPEG": (saved(given.convert("CMYK"), "JPEG", quality=95), given),
        "progressive JPEG": (saved(given, "JPEG", quality=95, progressive=True), given),
        "JPEG on its side": (saved(given, "JPEG", quality=95, exif=exif), given.transpose(Image.Transpose.ROTATE_270)),
        "JPEG with more after it": (jpeg + b"more", given),
        "PNG with a palette": (saved(palette, "PNG"), palette),
        "PNG with alpha": (saved(clear, "PNG"), given),
        "PNG of 16 bits": (png(*given.size, unfiltered(pixels.astype(">u2") * 257), bits=16), given),
        "interlaced PNG": (png(*given.size, adam7, interlaced=True), given),
        "WebP": (saved(given, "WEBP", lossless=True), given),
        "BMP": (saved(given, "BMP"), given),
        "TIFF": (saved(given, "TIFF", compression="tiff_lzw"), given),
        "one pixel": (saved(given.resize((1, 1)), "PNG"), given.resize((1, 1))),
        "a strip": (saved(strip, "PNG"), strip),
    }
    bad = {
        "cut off": jpeg[: len(jpeg) // 2],
        "GIF": saved(given, "GIF"),
        "text": b"no image",
        "a bomb": png(20_000, 20_000, b""),
    }
    return [(name, *each) for name, each in good.items()] + [(name, each, None) for name, each in bad.items()]


def answered(server: GatewayServer, body: bytes, kind: str, name: str) -> tuple[int, Any]:
    headers = {"Content-Type": kind, "X-Amzn-SageMaker-Custom-Attributes": f"modelname={name}"}
    request = urllib.request.Request(f"http://{server.sagemaker_url}/invocations", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, json.loads(answer.read())["result"]
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]


def test_every_kind_of_image_is_read_or_refused_and_none_harms_another(small_server: GatewayServer) -> None:
    """All at a time, so that the good and the bad ones meet in batches."""
    sent = [(name, RESNET, body, meant) for name, body, meant in pictures()]
    detected = ("a strip", "one pixel", "interlaced PNG", "cut off", "a bomb")
    sent += [(name, YOLO, *rest) for name, _, *rest in sent if name in detected]
    with ThreadPoolExecutor(len(sent)) as pool:
        answers = list(pool.map(lambda each: answered(small_server, each[2], "image/any", each[1]), sent))
    for (name, model, _, meant), (status, found) in zip(sent, answers, strict=True):
        if meant is None:
            assert status == 400 and found.startswith(f"payload.img cannot be used by {model} version "), (name, found)
            continue
        assert status == 200, (name, found)
        _, expected = answered(small_server, saved(meant.convert("RGB"), "PNG"), "image/png", model)
        if model == RESNET:
            scores = {each["label"]: each["score"] for each in expected}
            assert found[0]["label"] in scores, name
            assert found[0]["score"] == pytest.approx(scores[found[0]["label"]], rel=0.15), name
        else:
            assert [each["class"] for each in found] == [each["class"] for each in expected], name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no mask", "has 0 times [MASK], and must have it once"),
        ("[MASK] or [MASK]", "has 2 times [MASK]"),
        ("[MASK]" + " word" * 510, "has 513 tokens, and BERT takes 512"),
        ("  ", "has 0 times [MASK]"),
        ("\U0001f600 שלום\0 [MASK] e\u0301", ""),
        ("[MASK]" + " word" * 509, ""),
    ],
)
def test_texts_are_answered_or_refused_with_the_field(small_server: GatewayServer, text: str, reason: str) -> None:
    status, found = answered(small_server, text.encode(), "text/plain", BERT)
    if reason:
        assert (
            status == 400 and found.startswith(f"payload.text cannot be used by {BERT} version 1") and reason in found
        )
    else:
        assert status == 200 and len(found) == 5


def test_a_version_that_no_step_has_is_refused_by_its_place(
    small: dict[str, Built], small_places: Places, tmp_path: Path
) -> None:
    path = tmp_path / "models.toml"
    path.write_text(
        (ROOT / "gateway" / "models.toml").read_text().replace('steps_version = "1"', 'steps_version = "7"')
    )
    with pytest.raises(EnsembleError, match="resnet version 1: no step of resnet has a version 7"):
        stage_gateway(list(small.values()), read_table(path), path, replace(small_places, build=tmp_path), CPU)


def test_fused_answers_as_drawn_with_the_locked_packages(small_places: Places, small_server: GatewayServer) -> None:
    target, path = fused(), small_places.root / "fused.toml"
    text = (ROOT / "gateway" / "models.toml").read_text()
    with pytest.raises(EnsembleError, match=r"resnet version 1 has a steps_version, and a fused .*; use --target cpu"):
        ensembles_of(read_table(ROOT / "gateway" / "models.toml"), NAMES, path, target)
    path.write_text(f"[[models]]{text.rpartition('[[models]]')[2]}")
    built = build(
        small_places.ensembles / BERT, target, small_places, allow_random=True, progress=print, keep_locks=True
    )
    folder = stage_gateway([built], read_table(path), path, small_places, target)
    with GatewayServer(folder, log=small_places.build / "fused.log") as server:
        for text in (*TEXTS, "no mask"):
            fused_status, fused_answer = answered(server, text.encode(), "text/plain", BERT)
            status, answer = answered(small_server, text.encode(), "text/plain", BERT)
            assert fused_status == status
            if status == 200:
                assert [each["token"] for each in fused_answer] == [each["token"] for each in answer]
            else:
                assert fused_answer == answer


def test_they_are_built_by_name_only(places: Places) -> None:
    """Otherwise `make demo` would take longer than a newcomer has patience for."""
    leading = {folder.name for folder in choose(places.ensembles, (), leading=True)}
    assert leading == {"bert_trt", "dali_inception", "digits", "resnet_pytorch"}
    assert {RESNET, YOLO, BERT} < {folder.name for folder in choose(places.ensembles, ())}
    assert [folder.name for folder in choose(places.ensembles, (YOLO,), leading=True)] == [YOLO]
