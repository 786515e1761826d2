"""Limits for reading one archive or folder, archives inside it included: a few bytes can claim anything."""

from dataclasses import dataclass

HIGHEST_RATIO = 100  # deflate can reach 1032:1; models and Python environments reach 2:1 to 20:1
FREE_BYTES = 64 << 20  # bytes below which the ratio is not checked: a small archive of text may be denser
MOST_BYTES = 64 << 30  # unpacked
MOST_ENTRIES = 100_000  # files and folders; an environment with PyTorch has 20 000
_MOST_NAMES = 64 << 20  # bytes of all paths, those of folders that are only implied by others included
_MOST_HEADERS = 128 << 20  # bytes of pax headers and the like, with their padding
MOST_CONFIGS = 2 << 20  # bytes of all configs; parsing them takes most of the time of `check`
MOST_MARKS = 300_000  # in all configs: what a config of empty groups costs to check depends on these, not on its length
_MOST_TEXTS = 64 << 20  # bytes of all other texts that are kept
_NO_MARKS = bytes(set(range(256)) - set(b"{}[]<>:=,;#-"))


class ArchiveError(Exception):
    """The archive cannot be read any further. The checker's ``rule`` reports it, with ``effect`` instead of its own."""

    def __init__(self, rule: str, message: str, effect: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.effect = rule, message, effect


@dataclass
class Budget:
    """Remaining limits, and a count of bytes read. Each method raises :class:`ArchiveError` when they are used up."""

    entries: int = MOST_ENTRIES
    names: int = _MOST_NAMES
    headers: int = _MOST_HEADERS
    configs: int = MOST_CONFIGS
    marks: int = MOST_MARKS
    texts: int = _MOST_TEXTS
    taken: int = 0
    made: int = 0

    def take_entry(self, path: str) -> None:
        """Count a file or folder at ``path``."""
        self.entries -= 1
        self.names -= len(path)
        if self.entries < 0:
            raise ArchiveError("archive-bomb", f"it has more than {MOST_ENTRIES} files and folders")
        if self.names < 0:
            raise ArchiveError("archive-bomb", f"the names in it are longer than {_MOST_NAMES >> 20} MiB together")

    def take_folders(self, path: str, known: set[str]) -> int:
        """Count the folders that ``path`` implies and that are not ``known`` yet. Returns how many these are."""
        before = len(known)
        while (path := path.rpartition("/")[0]) and path not in known:
            known.add(path)
            self.take_entry(path)
        return len(known) - before

    def take_header(self, size: int) -> None:
        """Count a header of ``size`` bytes that is about another one."""
        self.headers -= size
        if self.headers < 0:
            raise ArchiveError("archive-bomb", f"its headers are longer than {_MOST_HEADERS >> 20} MiB together")

    def take_text(self, size: int, *, is_config: bool) -> bool:
        """Return whether a text of ``size`` bytes may be kept, which is then counted. Configs are counted apart: all of
        them are read, or nothing is checked, whatever lies before them, such as the sources of a Python package."""
        if is_config:
            self.configs -= size
            if self.configs < 0:
                message = f"the configs in it are longer than {MOST_CONFIGS >> 20} MiB together"
                raise ArchiveError("repository-too-large", message)
            return True
        if self.texts < size:
            return False
        self.texts -= size
        return True

    def take_config(self, data: bytes) -> None:
        """Count what the text of a config is made of."""
        self.marks -= len(data.translate(None, _NO_MARKS))
        if self.marks < 0:
            message = f"the configs in it have more than {MOST_MARKS:,} brackets, colons and commas together"
            raise ArchiveError("repository-too-large", message)

    def count(self, size: int) -> None:
        """Count unpacked bytes. ``taken`` are those of the file on disk so far."""
        self.made += size
        if self.made > MOST_BYTES:
            raise ArchiveError("archive-bomb", f"it unpacks to more than {MOST_BYTES >> 30} GiB")
        if self.made > FREE_BYTES and self.made > self.taken * HIGHEST_RATIO:
            message = f"it unpacks to more than {HIGHEST_RATIO} times its size, as a decompression bomb does"
            raise ArchiveError("archive-bomb", message)
