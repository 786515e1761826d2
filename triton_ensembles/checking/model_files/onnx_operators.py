"""The operators of ONNX's own domain in an opset: onnx_operators.txt, whose head says where it is from."""

from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("onnx_operators.txt")
_GONE = "!"


def is_operator(name: str, opset: int) -> bool | None:
    """Return whether the opset has it; None for an opset that is newer than the table."""
    came, gone = _table()
    if opset > max(came.values()):
        return None
    return name in came and came[name] <= opset < gone.get(name, opset + 1)


def first_opset(name: str) -> int | None:
    """The opset that the operator came with; None for what is none."""
    return _table()[0].get(name)


def operators() -> frozenset[str]:
    return frozenset(_table()[0])


@cache
def _table() -> tuple[dict[str, int], dict[str, int]]:
    """The opset with which each operator came, and the one with which it went."""
    came: dict[str, int] = {}
    gone: dict[str, int] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        opset, *names = line.split()
        if opset != "#":
            table = gone if opset.startswith(_GONE) else came
            table.update(dict.fromkeys(names, int(opset.lstrip(_GONE))))
    return came, gone
