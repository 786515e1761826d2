"""All placeholders of one config.pbtxt as one fault: a template that was never filled in."""

from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor

from triton_ensembles.checking.text.parsed import Path, TextFault
from triton_ensembles.ground.spelling import most_of

BARE, QUOTED = "config-template", "config-template-in-string"
# Strings of which the server takes each for the name of something that then does not exist.
_NAMES = ("platform", "backend", "runtime", "default_model_filename")
_NAMES_ANYWHERE = ("model_name", "label_filename")
_CURE = "write the values, or run the program that fills the template in"


class Placeholders:
    """The placeholders seen so far, by kind: outside of strings (the server refuses the text) and in strings."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[str, int]]] = {BARE: [], QUOTED: []}
        self._of_model: list[tuple[str, int]] = []  # in its name

    def bare(self, text: str, offset: int) -> None:
        self._seen[BARE].append((text, offset))

    def quoted(self, text: str, offset: int, field: FieldDescriptor, path: Path) -> None:
        """A placeholder in a string that is given for ``field`` of the message at ``path``."""
        is_name = field.name in _NAMES_ANYWHERE or (path == () and field.name in _NAMES)
        refused = is_name or field.cpp_type != FieldDescriptor.CPPTYPE_STRING
        self._seen[BARE if refused else QUOTED].append((text, offset))

    def in_model_name(self, text: str, offset: int) -> None:
        """A placeholder in the name of the model, which is that of its folder where the server loads it.

        Alone it is not a fault of the text: a rule compares the two names.
        """
        self._of_model.append((text, offset))

    @property
    def hide_model_name(self) -> bool:
        """Return whether the name of the model is part of a template, so that it is not compared."""
        return bool(self._of_model and any(self._seen.values()))

    def faults(self) -> Iterator[TextFault]:
        """Yield at most one fault."""
        if any(self._seen.values()):
            seen = sorted(self._seen[BARE] + self._seen[QUOTED] + self._of_model, key=lambda item: item[1])
            rule = BARE if self._seen[BARE] else QUOTED
            names = most_of(dict.fromkeys(text[:60] for text, _ in seen))
            message = f"this is a template that was never filled in: it still has {names}"
            yield TextFault(rule, self._seen[rule][0][1], message, _CURE)
