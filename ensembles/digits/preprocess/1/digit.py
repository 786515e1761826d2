"""A gray picture of one digit to 8 x 8 values of ink, which the network reads, whatever its size, place and colors."""

import numpy as np

SIDE = 8
_INK = 0.35  # of the strongest: less is paper, or noise of JPEG around a stroke


def ink(gray, opacity=None):
    """FP32 [8, 8], 0 for paper to 1 for the most ink.

    Args:
        gray: [height, width], 0 to 255.
        opacity: [height, width], 0 to 1; what is transparent becomes paper.
    """
    if opacity is not None:
        gray = _on_paper(gray, opacity)
    contrast = np.abs(gray - _background(gray))
    most = contrast.max()
    if most < 1:  # an empty sheet
        return np.zeros((SIDE, SIDE), np.float32)
    contrast = contrast / most
    strong = contrast >= _INK
    rows, columns = (np.flatnonzero(strong.any(axis=axis)) for axis in (1, 0))
    height, width = rows[-1] + 1 - rows[0], columns[-1] + 1 - columns[0]
    side = max(height, width)
    down = _shares((rows[0] + rows[-1] + 1 - side) / 2, side, len(contrast))
    across = _shares((columns[0] + columns[-1] + 1 - side) / 2, side, contrast.shape[1])
    return (down @ contrast @ across.T).astype(np.float32)


def _background(gray):
    """The median of the picture's rim."""
    return np.median(np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]]))


def _on_paper(gray, opacity):
    """Dark strokes on white paper, bright ones on black."""
    seen = opacity.sum()
    paper = 255.0 if seen and (gray * opacity).sum() < 127.5 * seen else 0.0
    return gray * opacity + paper * (1 - opacity)


def _shares(start, side, size):
    """[SIDE, size]: how much of each of ``size`` pixels is in each of SIDE parts of the stretch from ``start``; the
    shares of a part add up to 1, and those of pixels outside are lost, as if they were paper."""
    edges = start + side * np.arange(SIDE + 1) / SIDE
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.maximum(overlap, 0) * SIDE / side
