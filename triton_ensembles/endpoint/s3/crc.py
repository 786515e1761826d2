"""CRC32C and CRC64NVME, which AWS's command line and newer SDKs send with uploads; Python has neither.

A CRC is linear: the register after A and B is the register after A, moved on by as many zero bytes as B has, XOR that
of B alone. So numpy computes many pieces of the data beside each other, and joins them two by two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Registers = NDArray[np.uint64]
_PIECE = 1 << 10  # bytes
_PIECES = 1 << 14  # at a time
_BITS = 64


def _crc(width: int, polynomial: int) -> Callable[[Any], bytes]:
    """The CRC with this reflected polynomial; its register begins with ones and is inverted at the end."""
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = (table >> np.uint64(1)) ^ (table & np.uint64(1)) * np.uint64(polynomial)
    numbers = table.tolist()
    basis = np.uint64(1) << np.arange(_BITS, dtype=np.uint64)
    moves = [table[basis.astype(np.uint8)] ^ basis >> np.uint64(8)]  # by 1, 2, 4, … zero bytes, as images of each bit
    while len(moves) < (_PIECE * _PIECES).bit_length():
        moves.append(_moved(moves[-1], moves[-1]))
    ones = (1 << width) - 1

    def joined(data: NDArray[np.uint8], first: int) -> int:
        """The register after pieces whose number is a power of 2, with ``first`` before them."""
        registers = np.zeros(len(data) // _PIECE, np.uint64)
        registers[0] = first
        for row in np.ascontiguousarray(data.reshape(-1, _PIECE).T):
            registers = np.take(table, registers.astype(np.uint8) ^ row) ^ registers >> np.uint64(8)
        for move in moves[_PIECE.bit_length() - 1 :]:
            if len(registers) == 1:
                break
            registers = _moved(move, registers[0::2]) ^ registers[1::2]
        return int(registers[0])

    def crc(data: Any) -> bytes:
        left, register = np.frombuffer(data, np.uint8), ones
        while len(left) >= _PIECE:
            pieces = min(_PIECES, 1 << (len(left) // _PIECE).bit_length() - 1)
            register = joined(left[: pieces * _PIECE], register)
            left = left[pieces * _PIECE :]
        for byte in left.tolist():
            register = numbers[(register ^ byte) & 255] ^ register >> 8
        return (register ^ ones).to_bytes(width // 8, "big")

    return crc


def _moved(move: _Registers, registers: _Registers) -> _Registers:
    moved = np.zeros_like(registers)
    for bit in range(_BITS):
        moved ^= (registers >> np.uint64(bit) & np.uint64(1)) * move[bit]
    return moved


crc32c = _crc(32, 0x82F63B78)
crc64nvme = _crc(64, 0x9A6C9329AC4BC9B5)
