"""The known input of a model that is converted, and its answer, which the converted one must give."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.common.known_input import Answer, KnownTensor, agree, known_tensors
from triton_ensembles.runtime.backends.common.model_instance import Tensor

Known = Mapping[str, KnownTensor]


def first_answered(inputs: Sequence[Tensor], answer: Callable[[Known], Answer]) -> tuple[Known, Answer] | None:
    """The first known input for ``inputs`` that the model answers with finite numbers, twice with the same ones, and
    this ``answer``. None: there is none, so that nothing can be compared. What ``answer`` refuses is raised."""
    for known in known_tensors(inputs):
        try:
            answered, again = answer(known), answer(known)
        except EnsembleError:
            raise
        except Exception:  # an id beyond the vocabulary, a small image: ONNX Runtime's have no common base
            continue
        if all(np.isfinite(values).all() for values in answered.values()) and agree(again, answered):
            return known, answered
    return None
