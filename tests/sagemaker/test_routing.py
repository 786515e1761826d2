"""Which instance of several answers."""

from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.sagemaker.routing import rank


def test_the_instance_that_can_answer_soonest_is_chosen() -> None:
    """One that has the model loaded, however busy; else one that loads it, has it on the disk, or has few to do.

    Among idle ones it is that with the fewest models: otherwise one instance would have them all.
    """
    order = [
        rank(True, ModelState.LOADED, 9, 9),
        rank(True, ModelState.EXTRACTING, 9, 9),
        rank(True, ModelState.ON_DISK, 9, 9),
        rank(True, None, 0, 9),
        rank(True, None, 0, 10),
        rank(True, None, 1, 0),
        rank(False, ModelState.LOADED, 0, 0),
    ]
    assert order == sorted(order)
