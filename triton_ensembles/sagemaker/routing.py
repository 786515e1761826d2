"""The choice of the instance that answers a request: the one that can answer soonest.

    Where the model is loaded; else where it is being loaded; else where it is on the disk; else any. Of several, the
    least busy one; of several such, the one with the fewest models.

AWS also sends a model's requests to where it is loaded. It copies a model that is requested often to further instances,
which does not happen here.
"""

from triton_ensembles.sagemaker.model_state import ModelState

_SOONEST = {ModelState.LOADED: 0, ModelState.ON_DISK: 2, ModelState.UNLOADING: 2, None: 3}  # 1: it is being loaded


def rank(ready: bool, state: ModelState | None, in_flight: int, models: int) -> tuple[bool, int, int, int]:
    """The place of an instance in the order: the least is chosen. ``state``: of the model there, None without it."""
    return not ready, _SOONEST.get(state, 1), in_flight, models
