"""Which instance of several answers."""

from __future__ import annotations

from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.sagemaker.routing import rank


def test_the_instance_that_can_answer_soonest_is_chosen() -> None:
    """One that has the model loaded, however busy; else one that loads it, has it on the disk, or has few to do."""
    order = [
        rank(True, ModelState.LOADED, 9, 9),
        rank(True, ModelState.EXTRACTING, 9, 9),
        rank(True, ModelState.ON_DISK, 9, 9),
        rank(True, None, 0, 9),
        rank(True, None, 1, 0),
        rank(False, ModelState.LOADED, 0, 0),
    ]
    assert order == sorted(order)


def test_new_models_are_spread_over_idle_instances() -> None:
    """Otherwise one instance would have them all, and the memory of the others would be unused."""
    models = [0, 0, 0]
    for _ in range(9):
        chosen = min(range(3), key=lambda index: rank(True, None, 0, models[index]))
        models[chosen] += 1
    assert models == [3, 3, 3]
