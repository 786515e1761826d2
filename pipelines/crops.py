"""Photographs for the ranges of activations in int8: crops of the two that scikit-learn ships, brighter or darker."""

import io

import numpy as np
from PIL import Image, ImageEnhance

from triton_ensembles.artifacts.accuracy_on_photographs import encoded_views

PHOTOGRAPHS = (0, 6)  # among the views of the accuracy check


def crops(count: int = 100, seed: int = 0) -> list[bytes]:
    """Encoded as PNG, of a fifth to all of a photograph's width."""
    views, generator, streams = encoded_views(), np.random.default_rng(seed), []
    for number in range(count):
        image = Image.open(io.BytesIO(views[PHOTOGRAPHS[number % 2]]))
        part = generator.uniform(0.2, 1)
        width, height = int(image.width * part), int(image.height * part)
        left, top = (int(generator.integers(0, free + 1)) for free in (image.width - width, image.height - height))
        crop = image.crop((left, top, left + width, top + height))
        streams.append(io.BytesIO())
        ImageEnhance.Brightness(crop).enhance(generator.uniform(0.6, 1.4)).save(streams[-1], "PNG")
    return [stream.getvalue() for stream in streams]
