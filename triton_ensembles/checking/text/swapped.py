"""``output_map {`` and the ``}`` before it in the wrong order: both are there, and all that follows is wrong."""

import re

from triton_ensembles.checking.text.parsed import TextFault

_SWAPPED = re.compile(r"((?:[A-Za-z_]\w*[ \t]*:?[ \t]*)?\{)(\s*)(\}[ \t]*,?)(?=\s*[A-Za-z_])")


class SwappedError(Exception):
    """``text`` is what was meant, with everything else in its place."""

    def __init__(self, text: str, fault: TextFault) -> None:
        super().__init__(fault.message)
        self.text, self.fault = text, fault


def swapped_brackets(text: str, offset: int) -> None:
    """Raise :class:`SwappedError` when what stands at ``offset`` opens nothing and is followed by what it should open.

    The caller knows that it does not belong where it is.
    """
    if match := _SWAPPED.match(text, offset):
        opening, gap, closing = match.groups()
        message = f"'{opening}' comes before the '{closing[0]}' of what is above it"
        fault = TextFault("config-syntax", offset, message, "swap the two")
        raise SwappedError(f"{text[:offset]}{closing}{gap}{opening}{text[match.end() :]}", fault)
