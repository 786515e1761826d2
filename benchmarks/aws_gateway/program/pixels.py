"""Pictures out of requests."""

import base64

import cv2
import numpy as np


def picture(payload):
    """RGB pixels UINT8 [height, width, 3] of payload["img"]."""
    encoded = np.frombuffer(base64.b64decode(payload["img"]), np.uint8)
    return cv2.cvtColor(cv2.imdecode(encoded, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
