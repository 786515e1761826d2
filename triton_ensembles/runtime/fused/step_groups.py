"""Groups of a step's requests that run together: those that Triton's dynamic batcher would put into one execution.

Source: core r24.10, dynamic_batch_scheduler.cc and scheduler_utils.cc (RequiredEqualInputs).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.step_inputs import DeclaredTensor


@dataclass(frozen=True)
class Batching:
    """How a model batches.

    Attributes:
        dynamic: whether its config has ``dynamic_batching``; without it every execution has one request.
        rows: max_batch_size.
        inputs: as declared.
    """

    dynamic: bool
    rows: int
    inputs: Mapping[str, DeclaredTensor]

    def groups(self, requests: Sequence[Mapping[str, Array]]) -> list[list[int]]:
        """The indexes of the requests of each execution."""
        if len(requests) == 1 or not (self.dynamic and self.rows):
            return [[index] for index in range(len(requests))]
        groups: list[list[int]] = []
        last: dict[Hashable, int] = {}  # the group that requests of these shapes go to
        used: list[int] = []
        for index, inputs in enumerate(requests):
            rows = len(next(iter(inputs.values())))
            key = self._key(inputs)
            group = last.get(key)
            if group is None or used[group] + rows > self.rows:
                group = last[key] = len(groups)
                groups.append([])
                used.append(0)
            groups[group].append(index)
            used[group] += rows
        return groups

    def _key(self, inputs: Mapping[str, Array]) -> Hashable:
        """Features that the requests of a group share. Inputs that may be ragged only have to be there."""
        return tuple(
            (name, None if self.inputs[name].ragged else array.shape[1:]) for name, array in sorted(inputs.items())
        )
