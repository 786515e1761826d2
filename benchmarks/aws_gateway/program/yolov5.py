"""A YOLOX detector, whose rows are undecoded: arXiv 2107.08430."""

import cv2
import numpy as np
import torch
import tritonclient.grpc as grpcclient
from pixels import picture
from place import GRPC, labels_of

LABELS = labels_of("yolov5")
SIDE, STRIDES, GREY = 640, (8, 16, 32), 114
SCORE, IOU, MOST = 0.25, 0.45, 100


class Yolov5:
    def infer(self, payload):
        rgb = picture(payload)
        image = grpcclient.InferInput("images", [1, 3, SIDE, SIDE], "FP32")
        image.set_data_from_numpy(self.prepared(rgb))
        client = grpcclient.InferenceServerClient(url=GRPC)
        answer = client.infer("yolov5s", [image], outputs=[grpcclient.InferRequestedOutput("output")])
        return self.objects(torch.from_numpy(answer.as_numpy("output")[0].copy()), *rgb.shape[:2])

    def prepared(self, rgb):
        """Letterbox: the longer side becomes 640 pixels, and what is missing to the right or below is grey."""
        height, width = self.resized(*rgb.shape[:2])
        boxed = np.full((SIDE, SIDE, 3), GREY, np.uint8)
        boxed[:height, :width] = cv2.resize(rgb, (width, height), interpolation=cv2.INTER_LINEAR)
        return np.ascontiguousarray(boxed.astype(np.float32).transpose(2, 0, 1)[None])

    def resized(self, height, width):
        scale = SIDE / max(height, width)
        return round(height * scale), round(width * scale)

    def objects(self, rows, height, width):
        strides = torch.cat([torch.full(((SIDE // each) ** 2, 1), each) for each in STRIDES])
        corners = torch.cat([self.corners(SIDE // each) for each in STRIDES])
        rows[:, :2] = (rows[:, :2] + corners) * strides
        rows[:, 2:4] = rows[:, 2:4].exp() * strides
        scores, kinds = (rows[:, 5:] * rows[:, 4:5]).max(1)
        found = scores >= SCORE
        scores, kinds = scores[found], kinds[found]
        boxes = torch.cat((rows[found, :2] - rows[found, 2:4] / 2, rows[found, 2:4]), 1)  # left, top, width, height
        kept = list(cv2.dnn.NMSBoxesBatched(boxes.tolist(), scores.tolist(), kinds.tolist(), SCORE, IOU))[:MOST]
        boxes[:, 2:] += boxes[:, :2]
        inner_height, inner_width = self.resized(height, width)
        boxes = boxes[kept] * torch.tensor([width / inner_width, height / inner_height] * 2)
        boxes = boxes.clamp(min=0).minimum(torch.tensor([width, height] * 2))
        return [
            {"label": LABELS[kind], "class": kind, "score": score, "box": box}
            for kind, score, box in zip(kinds[kept].tolist(), scores[kept].tolist(), boxes.tolist(), strict=True)
        ]

    def corners(self, count):
        y, x = torch.meshgrid(torch.arange(count), torch.arange(count), indexing="ij")
        return torch.stack((x, y), 2).reshape(-1, 2)
