"""The instance of each model: the one that got its first request, and so has its copy on the disk.

The first request for a model goes to the instance that is the least busy then, or has the fewest models: see
``sagemaker/routing.py``. So instances have models alike in number, and not in requests.
"""

import numpy as np
from numpy.typing import NDArray

_SEED = 20261122


def place(models: int, instances: int) -> NDArray[np.int64]:
    """The instance of each model. Models meet their instances in any order: one that is always the same."""
    order = np.random.default_rng(_SEED).permutation(models)
    placed = np.empty(models, dtype=np.int64)
    placed[order] = np.arange(models) % instances
    return placed
