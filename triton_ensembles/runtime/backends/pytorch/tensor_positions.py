"""Positions of the config's tensors in a torch model's arguments and outputs: TorchScript's outputs have no names.

The rules are those of triton-inference-server/pytorch_backend r24.10, src/libtorch.cc, GetNamingConvention.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import LoadError

_INDEX = "__"


@dataclass(frozen=True)
class Positions:
    """Positions (``of``) by tensor name. ``guessed``: by the order in the config, because the names do not say."""

    of: dict[str, int]
    guessed: bool = False

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of the model's arguments."""
        return [values[name] for name in sorted(self.of, key=self.of.__getitem__)]


def input_positions(names: Sequence[str], arguments: Sequence[str]) -> Positions:
    """Return the argument of ``forward()`` that each input is: all by name, or all by ``NAME__INDEX``, or all by their
    order. Raises LoadError unless each is exactly one input."""
    if len(names) != len(arguments):
        inputs = "input" if len(names) == 1 else "inputs"
        raise LoadError(
            f"the config has {len(names)} {inputs} ({', '.join(names) or 'none'}), but the model's forward() takes "
            f"{len(arguments)} ({', '.join(arguments) or 'none'})"
        )
    if set(names) <= set(arguments):
        return Positions({name: arguments.index(name) for name in names})
    by_index = _by_index(names)
    if sorted(by_index.of.values()) != list(range(len(arguments))):
        listed = ", ".join(map(str, by_index.of.values()))
        raise LoadError(
            f"the config's inputs {', '.join(names)} are arguments {listed} of the model's forward(), which "
            f"takes {', '.join(arguments)}: each of 0 to {len(arguments) - 1} must appear once"
        )
    return by_index


def output_positions(names: Sequence[str], count: int) -> Positions:
    """The index of each output among the model's ``count`` outputs: all by ``NAME__INDEX``, or all by their order."""
    by_index = _by_index(names)
    for name, position in by_index.of.items():
        if position >= count:
            raise LoadError(f'the config\'s output "{name}" is output {position}, but the model has {count}, from 0')
    return by_index


def _by_index(names: Sequence[str]) -> Positions:
    # The index must be all of the name after the first "__".
    indices = [name.partition(_INDEX)[2] for name in names]
    if all(index.isdecimal() for index in indices):
        return Positions(dict(zip(names, map(int, indices), strict=True)))
    return Positions({name: position for position, name in enumerate(names)}, guessed=len(names) > 1)
