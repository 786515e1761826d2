"""Texts as counts of words. The training reads this file too, so that both count alike."""

import zlib

import numpy as np
import regex

BUCKETS = 512


def bag(text):
    """FP32 [512]: how often the words of each bucket occur, as a vector of length 1 (or 0 without any word)."""
    counts = np.zeros(BUCKETS, np.float32)
    for word in regex.findall(r"\p{L}+", text.casefold()):
        counts[zlib.crc32(word.removesuffix("s").encode()) % BUCKETS] += 1
    return counts / max(np.linalg.norm(counts), 1)
