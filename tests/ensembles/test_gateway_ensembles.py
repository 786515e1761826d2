"""resnet and bert_base on the real server against the same computations in torch, and the gateway before all three."""

import base64
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tritonclient.utils import InferenceServerException

from checkout import ROOT
from ensembles.bert_base.make_model import fill as fill_bert
from pipelines.dali_pipe import preprocess
from pipelines.make_resnet50 import ResNet50
from pipelines.make_resnet50 import fill as fill_resnet
from tests.ensembles.clients import PHOTOGRAPHS, SHOTS, SIDEWAYS, Array, infer, png, rows, saved, text_rows
from tests.ensembles.conftest import BERT, NAMES, RESNET, RESNET_SEEDS, YOLO
from tests.host.gateway.client import named, send
from tests.places import built_by
from triton_ensembles.building.built import Built, choose
from triton_ensembles.building.packed.gateway_repository import ensembles_of, stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.host.gateway.models_toml import read_table
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.triton.targets import CPU, fused

pytestmark = pytest.mark.slow

# resnet


@pytest.fixture(scope="module")
def labels(small: dict[str, Built]) -> list[str]:
    return (small[RESNET].repository / f"{RESNET}.postprocess/1/imagenet_classes.txt").read_text().splitlines()


def expected_classes(version: int, image: bytes) -> tuple[Array, Array]:
    network = ResNet50((1, 1, 1, 1)).eval()
    fill_resnet(network, RESNET_SEEDS[version])
    pixels = preprocess(image, "cpu", {1: "imagenet_256", 2: "imagenet_232"}[version])
    with torch.inference_mode():
        probabilities = network(torch.from_numpy(pixels[None])).softmax(1)[0]
    best = probabilities.topk(5)
    return best.indices.numpy(), best.values.numpy()


def test_resnet_answers_with_the_best_labels_of_torch(small_client: Any, labels: list[str]) -> None:
    outputs = infer(small_client, RESNET, {"IMAGE": rows(list(SHOTS.values()))})
    for number, image in enumerate(SHOTS.values()):
        classes, scores = expected_classes(2, image)
        np.testing.assert_array_equal(outputs["CLASSES"][number], classes)
        np.testing.assert_allclose(outputs["SCORES"][number], scores, rtol=1e-3)
        assert [label.decode() for label in outputs["LABELS"][number]] == [labels[index] for index in classes]
    assert np.ptp(outputs["SCORES"][:, 0]) > 0.01  # the network tells them apart; else agreement would prove nothing


def test_fused_holds_the_version_that_its_dag_runs(small_places: Places) -> None:
    """The other one would only make the archive larger."""
    plan = plan_build(small_places.ensembles / RESNET, fused(), small_places.root)
    paths = {artifact.path for artifact in plan.artifacts}
    assert {"resnet50/2/model.onnx", "preprocess/2/model.dali", "postprocess/1/imagenet_classes.txt"} == paths


# bert_base

TEXTS = [
    "The capital of France is [MASK].",
    "[MASK] opened the door.",
    "Übung macht den [MASK], said the carpenter while it was raining outside.",
]


def test_bert_fills_in_the_words_of_transformers(small_client: Any, small: dict[str, Built]) -> None:
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    model = BertForMaskedLM(BertConfig(num_hidden_layers=1)).eval()
    fill_bert(model, 2018)  # as in the recipe
    tokenizer = BertTokenizer(str(small[BERT].repository / f"{BERT}.preprocess" / "1" / "vocab.txt"))
    outputs = infer(small_client, BERT, {"TEXT": text_rows(TEXTS)})
    for number, text in enumerate(TEXTS):
        encoded = tokenizer(text, return_tensors="pt")
        place = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.inference_mode():
            best = model(**encoded).logits[0, place].softmax(0).topk(5)
        expected = tokenizer.convert_ids_to_tokens(best.indices.tolist())
        assert [word.decode() for word in outputs["TOKENS"][number]] == expected
        np.testing.assert_allclose(outputs["SCORES"][number], best.values, rtol=1e-3)
    assert len({tuple(row) for row in outputs["TOKENS"].tolist()}) == len(TEXTS)


def test_a_text_that_cannot_be_used_is_refused_with_its_row(small_client: Any) -> None:
    with pytest.raises(InferenceServerException, match=r"row 1 of TEXT is not valid UTF-8: .* at byte 7"):
        infer(small_client, BERT, {"TEXT": np.array([[TEXTS[0].encode()], [b"[MASK] \xff"]], dtype=np.object_)})


# The gateway before all three


@pytest.mark.parametrize(("chosen", "version"), [({"version": "1"}, 1), ({"version": 2}, 2), ({}, 2)])
def test_each_version_of_resnet_answers_by_its_number(
    small_server: GatewayServer, labels: list[str], chosen: dict[str, Any], version: int
) -> None:
    image = SHOTS["flower"]
    _, answer, _ = send(small_server, named(RESNET, {"img": base64.b64encode(image).decode()}, **chosen))
    classes, scores = expected_classes(version, image)
    assert answer["version"] == str(version)
    assert [each["label"] for each in answer["result"]] == [labels[each] for each in classes]
    np.testing.assert_allclose([each["score"] for each in answer["result"]], scores, rtol=1e-3)


def test_objects_and_words_are_answered_as_lists(small_server: GatewayServer, small_client: Any) -> None:
    image = SHOTS["china"]
    _, answer, _ = send(small_server, named(YOLO, {"img": base64.b64encode(image).decode()}))
    direct = infer(small_client, YOLO, {"IMAGE": rows([image])})
    assert len(answer["result"]) == direct["COUNT"][0, 0]
    np.testing.assert_allclose([each["box"] for each in answer["result"]], direct["BOXES"][0], atol=0.01)
    words = send(small_server, named(BERT, {"text": TEXTS[0]}))[1]["result"]
    direct = infer(small_client, BERT, {"TEXT": text_rows(TEXTS[:1])})
    assert [each["token"].encode() for each in words] == direct["TOKENS"][0].tolist()


def pictures() -> list[tuple[str, bytes, Image.Image | None]]:
    """List what clients send as an image, and the pixels that it stands for; None for what is refused.

    Other formats are tests of the backend: tests/runtime/backends/test_dali.py.
    """
    photograph = Image.open(PHOTOGRAPHS[0]).convert("RGB").resize((321, 215))
    jpeg = saved(photograph, "JPEG", quality=95)
    strip = Image.effect_noise((2, 65535), 50).convert("RGB")  # resized as others are, it would be 6 GB
    good = {
        "JPEG on its side": (
            saved(photograph, "JPEG", quality=95, exif=SIDEWAYS),
            photograph.transpose(Image.Transpose.ROTATE_270),
        ),
        "JPEG with more after it": (jpeg + b"more", photograph),
        "one pixel": (saved(photograph.resize((1, 1)), "PNG"), photograph.resize((1, 1))),
        "a strip": (saved(strip, "PNG"), strip),
    }
    bad = {"cut off": jpeg[: len(jpeg) // 2], "GIF": saved(photograph, "GIF"), "a bomb": png(20_000, 20_000, b"")}
    return [(name, *each) for name, each in good.items()] + [(name, each, None) for name, each in bad.items()]


def answered(server: GatewayServer, body: bytes, kind: str, name: str) -> tuple[int, Any]:
    """Status, and the result or the error."""
    status, answer, _ = send(server, body, kind, f"modelname={name}")
    return status, answer["result" if status == 200 else "error"]


def test_every_kind_of_image_is_read_or_refused_and_none_harms_another(small_server: GatewayServer) -> None:
    """All at a time, so that the good and the bad ones meet in batches."""
    sent = [(name, RESNET, body, meant) for name, body, meant in pictures()]
    detected = ("a strip", "one pixel", "cut off", "a bomb")
    sent += [(name, YOLO, *picture) for name, _, *picture in sent if name in detected]
    with ThreadPoolExecutor(len(sent)) as pool:
        answers = list(pool.map(lambda each: answered(small_server, each[2], "image/any", each[1]), sent))
    for (name, model, _, meant), (status, result) in zip(sent, answers, strict=True):
        if meant is None:
            assert status == 400, (name, result)
            assert result.startswith(f"payload.img cannot be used by {model} version "), (name, result)
            continue
        assert status == 200, (name, result)
        _, expected = answered(small_server, saved(meant.convert("RGB"), "PNG"), "image/png", model)
        if model == RESNET:
            scores = {each["label"]: each["score"] for each in expected}
            assert result[0]["label"] in scores, name
            assert result[0]["score"] == pytest.approx(scores[result[0]["label"]], rel=0.15), name
        else:
            assert [each["class"] for each in result] == [each["class"] for each in expected], name


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
    status, result = answered(small_server, text.encode(), "text/plain", BERT)
    if reason:
        assert status == 400 and reason in result
        assert result.startswith(f"payload.text cannot be used by {BERT} version 1")
    else:
        assert status == 200 and len(result) == 5


def test_a_version_that_no_step_has_is_refused_by_its_place(
    small: dict[str, Built], small_places: Places, tmp_path: Path
) -> None:
    path = tmp_path / "models.toml"
    table = (ROOT / "gateway" / "models.toml").read_text()
    path.write_text(table.replace('steps_version = "1"', 'steps_version = "7"'))
    with pytest.raises(EnsembleError, match="resnet version 1: no step of resnet has a version 7"):
        stage_gateway(list(small.values()), read_table(path), path, replace(small_places, build=tmp_path), CPU)


def test_fused_answers_as_drawn_with_the_locked_packages(small_places: Places, small_server: GatewayServer) -> None:
    target, path = fused(), small_places.root / "fused.toml"
    text = (ROOT / "gateway" / "models.toml").read_text()
    with pytest.raises(EnsembleError, match=r"resnet version 1 has a steps_version, and a fused .*; use --target cpu"):
        ensembles_of(read_table(ROOT / "gateway" / "models.toml"), NAMES, path, target)
    path.write_text(f"[[models]]{text.rpartition('[[models]]')[2]}")
    built = built_by(small_places, BERT, target, keep_locks=True)
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
