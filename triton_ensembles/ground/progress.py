"""How long work reports what it is doing."""

from collections.abc import Callable

Progress = Callable[[str], object]
"""Called with one line of text for people, without a line break."""
