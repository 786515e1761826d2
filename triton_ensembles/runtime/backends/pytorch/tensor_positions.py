"""Positions of the config's tensors in a torch model's arguments and outputs: TorchScript's outputs have no names.

The rules are those of triton-inference-server/pytorch_backend r24.10, src/libtorch.cc, GetNamingConvention.
"""

from collections.abc import Sequence

from triton_ensembles.runtime.backends.common.model_instance import LoadError

_INDEX = "__"


def input_positions(names: Sequence[str], arguments: Sequence[str]) -> dict[str, int]:
    """Return the argument of ``forward()`` that each input is: all by name, or all by ``NAME__INDEX``, or all by their
    order. Raises LoadError unless each is exactly one input."""
    if len(names) != len(arguments):
        inputs = "input" if len(names) == 1 else "inputs"
        raise LoadError(
            f"the config has {len(names)} {inputs} ({', '.join(names) or 'none'}), but the model's forward() takes "
            f"{len(arguments)} ({', '.join(arguments) or 'none'})"
        )
    if set(names) <= set(arguments):
        return {name: arguments.index(name) for name in names}
    by_index = _by_index(names)
    if sorted(by_index.values()) != list(range(len(arguments))):
        listed = ", ".join(map(str, by_index.values()))
        raise LoadError(
            f"the config's inputs {', '.join(names)} are arguments {listed} of the model's forward(), which "
            f"takes {', '.join(arguments)}: each of 0 to {len(arguments) - 1} must appear once"
        )
    return by_index


def output_positions(names: Sequence[str], count: int) -> dict[str, int]:
    """Return the index of each output among the model's ``count``: all by ``NAME__INDEX``, or all by their order."""
    by_index = _by_index(names)
    for name, position in by_index.items():
        if position >= count:
            raise LoadError(f'the config\'s output "{name}" is output {position}, but the model has {count}, from 0')
    return by_index


def _by_index(names: Sequence[str]) -> dict[str, int]:
    # The index must be all of the name after the first "__".
    indices = [name.partition(_INDEX)[2] for name in names]
    if all(index.isdecimal() for index in indices):
        return dict(zip(names, map(int, indices), strict=True))
    return {name: position for position, name in enumerate(names)}
