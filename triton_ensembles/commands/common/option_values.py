"""The values of options as text: times, sizes, shares, numbers."""

import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST_INSTANCES = 1000


def option(
    *names: str, metavar: str, read: Callable[[str], object], help: str, default: str | None = None
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """An option whose text ``read`` reads, which raises ValueError with what is wrong."""

    def callback(context: click.Context, parameter: click.Parameter, text: str | None) -> object:
        if text is None:
            return None
        try:
            return read(text.strip())
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from None

    return click.option(*names, metavar=metavar, default=default, callback=callback, help=help)


def seconds(text: str) -> float:
    time = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s)", text)
    if not time or not float(time[1]):
        raise ValueError(f"{text!r} is not a time above 0 such as 50ms or 1.5s")
    return float(time[1]) * _UNITS[time[2]]


def size(text: str) -> int:
    """Bytes, such as 500M or 8G."""
    number = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?", text, re.IGNORECASE)
    value = int(float(number[1]) * _BYTES[number[2].upper()]) if number else 0
    if value <= 0:
        raise ValueError(f"{text!r} is not a valid size: write it as 500M or 8G")
    return value


def memory(text: str) -> int:
    """Bytes, such as 8G or 90% of what this machine, or the container that this runs in, has."""
    if not text.endswith("%"):
        return size(text)
    limit = Path("/sys/fs/cgroup/memory.max")  # cgroup v2, as a container sees it
    allowed = limit.read_text().strip() if limit.is_file() else ""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(share(text) * min(machine, int(allowed) if allowed.isdecimal() else machine))


def share(text: str) -> float:
    percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
    if not percent or not 0 <= float(percent[1]) <= 100:
        raise ValueError(f"{text!r} is not a share from 0% to 100%, such as 1%")
    return float(percent[1]) / 100


def counts(text: str) -> tuple[int, ...]:
    span = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    numbers: Iterable[int] = ()
    if span and int(span[2]) <= _MOST_INSTANCES:
        numbers = range(int(span[1]), int(span[2]) + 1)
    elif all(re.fullmatch(r"\d{1,6}", word.strip()) for word in text.split(",")):
        numbers = map(int, text.split(","))
    values = sorted(set(numbers))
    if not values or values[0] < 1 or values[-1] > _MOST_INSTANCES:
        raise ValueError(f"{text!r} is not a number of instances from 1 to {_MOST_INSTANCES}, such as 2, 1..8 or 1,2,4")
    return tuple(values)


def numbers(most: int) -> Callable[[str], tuple[int, ...]]:
    """Reads a list such as 1,2,4."""

    def read(text: str) -> tuple[int, ...]:
        try:
            values = tuple(int(part) for part in text.split(","))
        except ValueError:
            values = ()
        if not values or min(values) < 1 or max(values) > most:
            raise ValueError(f"{text!r} is not a list such as 1,2,4, of at most {most}")
        return values

    return read


def finite(context: click.Context, parameter: click.Parameter, number: Any) -> Any:
    """A range lets "nan" and "inf" pass."""
    if number is not None and not math.isfinite(number):
        raise click.BadParameter(f"{number} is not a number above 0", context, parameter)
    return number
