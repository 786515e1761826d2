"""A detector's rows to boxes in the image's own pixels, without the worse ones of overlapping boxes.

PREDICTIONS  FP32  [batch, rows, 85]   x, y, width, height, the object's and each class's probability
SIZES        INT32 [batch, 2, 3]       height, width and channels of the image, as decoded and as resized
COUNT        INT32 [batch, 1]          the number of objects
BOXES        FP32  [batch, most, 4]    left, top, right, bottom: pixels of the upright image
SCORES       FP32  [batch, most]       the object's times the class's probability, best first
CLASSES      INT32 [batch, most]
LABELS       BYTES [batch, most]       lines of labels.txt

``most`` is that of the image of the request which has the most; the others end in zeros and empty labels.

There is one row for each place of YOLOX, undecoded: the center in units of the stride from the place's corner, and the
logarithm of the size in that unit (arXiv 2107.08430, and YOLOv3 before it). There are three for each place of YOLOv5,
decoded. The parameter ``decoded`` overrides what the number of rows says: "true" for a YOLOX that was exported with
its decoding.
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

SIDE, STRIDES = 640, (8, 16, 32)
LONGEST = 10.0  # of the logarithm of a side: more would overflow, and no image is that large
CANDIDATES = 3000  # the best boxes of an image, which alone are compared with each other


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        parameters = json.loads(args["model_config"]).get("parameters", {})
        texts = {name: value["string_value"] for name, value in parameters.items()}
        self.score, self.iou = (share(texts, name, default) for name, default in (("score", 0.25), ("iou", 0.45)))
        self.most = int(texts.get("most", 100))
        self.decoded = {"true": True, "false": False}.get(texts.get("decoded", ""))
        self.labels = np.array([*(folder / "labels.txt").read_bytes().splitlines(), b""], dtype=np.object_)
        self.grids, self.strides = places()

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows, sizes = (pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("PREDICTIONS", "SIZES"))
        try:
            found = [self.detect(*image) for image in zip(rows, sizes, strict=True)]
        except ValueError as error:
            return pb_utils.InferenceResponse([], pb_utils.TritonError(str(error)))
        counts = [len(scores) for _, scores, _ in found]
        shape = (len(found), max(counts))
        boxes, scores = np.zeros((*shape, 4), np.float32), np.zeros(shape, np.float32)
        classes, named = np.zeros(shape, np.int32), np.full(shape, len(self.labels) - 1)  # the last label is empty
        for number, (count, (box, score, kind)) in enumerate(zip(counts, found, strict=True)):
            boxes[number, :count], scores[number, :count] = box, score
            classes[number, :count] = named[number, :count] = kind
        outputs = {
            "COUNT": np.array(counts, np.int32)[:, None],
            "BOXES": boxes,
            "SCORES": scores,
            "CLASSES": classes,
            "LABELS": self.labels[named],
        }
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in outputs.items()])

    def detect(self, rows, sizes):
        """Boxes [n, 4], scores [n] and classes [n] of one image, best first."""
        kinds = rows[:, 5:].argmax(axis=1)
        scores = rows[:, 4] * np.take_along_axis(rows[:, 5:], kinds[:, None], axis=1)[:, 0]
        sound = np.isfinite(rows[:, :4]).all(axis=1) & np.isfinite(scores)  # half precision may overflow
        chosen = np.flatnonzero(sound & (scores >= self.score))
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")[:CANDIDATES]]
        boxes = corners(self.decode(rows, chosen))
        kept = best(boxes, kinds[chosen], self.iou, self.most)
        # From the letterbox, which begins in the image's corner, to the image.
        (height, width), resized = sizes[0, :2].astype(np.float64), sizes[1, :2]
        scale = np.array([width / resized[1], height / resized[0]] * 2)
        inside = np.clip(boxes[kept] * scale, 0, [width, height] * 2)
        return inside, scores[chosen][kept], kinds[chosen][kept]

    def decode(self, rows, chosen):
        """Centers and sizes [n, 4] of the chosen rows, in pixels of the letterbox."""
        once = len(rows) == len(self.strides)
        if not once and len(rows) != 3 * len(self.strides):
            raise ValueError(f"the detector returns {len(rows)} rows, and YOLOX has 8400, YOLOv5 25200")
        boxes = rows[chosen, :4].astype(np.float64)
        if self.decoded or (self.decoded is None and not once):
            return boxes
        strides = self.strides[chosen, None]
        centers = (boxes[:, :2] + self.grids[chosen]) * strides
        return np.concatenate((centers, np.exp(np.minimum(boxes[:, 2:], LONGEST)) * strides), axis=1)


def share(texts, name, default):
    value = float(texts.get(name, default))
    if not 0 <= value <= 1:
        raise pb_utils.TritonModelException(f"{name} is {value}, and must be from 0 to 1")
    return value


def places():
    """The corner [rows, 2], in strides, and the stride [rows] of each row of YOLOX: by stride, row and column."""
    grids, strides = [], []
    for stride in STRIDES:
        count = SIDE // stride
        y, x = np.divmod(np.arange(count * count), count)
        grids.append(np.stack((x, y), axis=1))
        strides.append(np.full(count * count, stride))
    return np.concatenate(grids), np.concatenate(strides)


def corners(boxes):
    """Centers and sizes to left, top, right and bottom."""
    half = boxes[:, 2:] / 2
    return np.concatenate((boxes[:, :2] - half, boxes[:, :2] + half), axis=1)


def best(boxes, kinds, iou, most):
    """The indices of the first ``most`` of ``boxes``, best first, that overlap no better one of their class by more
    than ``iou``.

    Non-maximum suppression as torchvision documents batched_nms: a box that goes suppresses none.
    """
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    left = np.arange(len(boxes))
    kept: list[int] = []
    while len(left) and len(kept) < most:
        first, rest = left[0], left[1:]
        kept.append(first)
        edges = np.maximum(boxes[first, :2], boxes[rest, :2]), np.minimum(boxes[first, 2:], boxes[rest, 2:])
        common = np.prod(np.maximum(edges[1] - edges[0], 0), axis=1)
        overlap = common > iou * (area[first] + area[rest] - common)
        left = rest[~overlap | (kinds[rest] != kinds[first])]
    return np.array(kept, dtype=np.int64)
