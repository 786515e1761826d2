"""ResNet-50 with torchvision's IMAGENET1K_V2."""

import numpy as np
import tritonclient.grpc as grpcclient
from PIL import Image
from pixels import picture
from place import GRPC, labels_of
from scipy.special import softmax

LABELS = labels_of("resnet")
BEST, SHORTER, SIDE = 5, 232, 224
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


class Resnet:
    def infer(self, payload):
        image = grpcclient.InferInput("input", [1, 3, SIDE, SIDE], "FP32")
        image.set_data_from_numpy(self.prepared(picture(payload)))
        client = grpcclient.InferenceServerClient(url=GRPC)
        answer = client.infer("resnet", [image], outputs=[grpcclient.InferRequestedOutput("output")])
        scores = softmax(answer.as_numpy("output")[0])
        best = np.argsort(-scores)[:BEST]
        return [{"label": LABELS[each], "score": float(scores[each])} for each in best]

    def prepared(self, rgb):
        image = Image.fromarray(rgb)
        scale = SHORTER / min(image.size)
        image = image.resize([round(side * scale) for side in image.size], Image.Resampling.BILINEAR)
        left, top = (round((side - SIDE) / 2) for side in image.size)
        pixels = np.array(image.crop((left, top, left + SIDE, top + SIDE)), np.float32)
        pixels = (pixels / 255 - MEAN) / DEVIATION
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])
