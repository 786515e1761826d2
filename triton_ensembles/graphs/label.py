"""Names as they are drawn. Those in a repository may be anything: of any length, with what a terminal obeys."""

from triton_ensembles.ground.errors import escaped

_LONGEST = 80  # letters


def label(text: str) -> str:
    """``text`` without what cannot be drawn; of a long one the beginning and the end."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 + 1 :]}"
    return escaped(text)
