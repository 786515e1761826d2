"""What both gateways are sent, in the form that both take, and whether their answers agree."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.http_load import HttpTarget, post, request_each
from checkout import ENSEMBLES
from triton_ensembles.examples.place import examples_folder
from triton_ensembles.triton.ports import LOOPBACK

MODELS: Mapping[str, str] = {"resnet": "images", "yolov5": "images", "bert_base": "texts"}
"""The models by the clients' name, and what they take."""
LEAST, MOST = 0.25, 100
"""Objects with lower scores are left out, and more objects in one image, as yolov5's recipe says."""
PIXELS = 2.0
"""How far a side of a box may lie from the other gateway's: decoders and filters of images differ."""


def target_of(model: str, port: int) -> HttpTarget:
    """Where the requests for one model go: the photographs or the texts of its examples, in turn."""
    headers = {"Content-Type": "application/json"}
    bodies = [json.dumps({"modelname": model, "payload": each}).encode() for each in payloads_of(model)]
    return HttpTarget(LOOPBACK, port, [post(LOOPBACK, port, "/invocations", headers, body) for body in bodies])


def payloads_of(model: str) -> list[dict[str, str]]:
    """The ``payload`` of each request."""
    if MODELS[model] == "texts":
        return [{"text": text} for text in texts_of_bert()]
    folder = examples_folder(ENSEMBLES / model)
    return [{"img": base64.b64encode(path.read_bytes()).decode()} for path in sorted(folder.glob("*.jpg"))]


def texts_of_bert() -> list[str]:
    """Sentences with one [MASK] each."""
    path = examples_folder(ENSEMBLES / "bert_base") / "sentences.txt"
    return path.read_text(encoding="utf-8").splitlines()


def results_of(model: str, port: int) -> list[Any]:
    """The results for all of these requests. Raises as :func:`request_each` does."""
    return [json.loads(body)["result"] for body in request_each(target_of(model, port))]


def difference(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], tolerance: float) -> str:
    """Where two results for the same request do not agree; "" if they do.

    Each is a list of labels, objects or words, best first. What only one of them has must be about as likely as what
    the other leaves out for its score.

    Args:
        tolerance: of scores, relative to the larger one.
    """
    for mine, other in ((ours, theirs), (theirs, ours)):
        for each in mine:
            found = any(_agree(each, candidate, tolerance) for candidate in other)
            if not found and each["score"] * (1 - tolerance) > _least(other, objects="box" in each):
                return f"{dict(each)} has no counterpart"
    return ""


def _least(result: Sequence[Mapping[str, Any]], *, objects: bool) -> float:
    """The score below which the result leaves out what it found."""
    if objects and len(result) < MOST:
        return LEAST
    return min((each["score"] for each in result), default=0.0)


def _agree(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float) -> bool:
    named = all(one[key] == other[key] for key in one if key not in ("score", "box"))
    near = abs(one["score"] - other["score"]) <= tolerance * max(one["score"], other["score"])
    sides = zip(one.get("box", ()), other.get("box", ()), strict=True)
    return named and near and all(abs(mine - theirs) <= PIXELS for mine, theirs in sides)
