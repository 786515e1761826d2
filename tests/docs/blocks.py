"""The fenced code blocks of the documentation."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from checkout import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
_INLINE = re.compile(r"`((?:\./)?build\.py|triton-ensembles|make) ([^`\n]+)`")
_FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One code block; ``kind`` is what follows the three backticks: "sh", "sh run", "text", ..."""

    page: Path
    kind: str
    text: str

    @property
    def commands(self) -> list[str]:
        """List its lines of shell, continued lines joined and comments left out."""
        lines = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        return [words for line in lines if (words := re.sub(r"\s#.*", "", line).strip())]


def blocks_of(page: Path) -> list[Block]:
    """The code blocks of a page in their order."""
    return [Block(page, found["kind"], found["text"]) for found in _FENCE.finditer(page.read_text(encoding="utf-8"))]


def inline_commands(page: Path) -> list[tuple[str, list[str]]]:
    """The calls of make and of the command line that stand in the text of a page: the program and its words."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [(found[1].removeprefix("./"), found[2].split()) for found in _INLINE.finditer(text)]


def type_smallest_ensemble(folder: Path) -> None:
    """Run the first commands of the README in ``folder``: they write its smallest ensemble."""
    smallest = next(block for block in blocks_of(ROOT / "README.md") if block.kind == "sh run")
    subprocess.run(["bash", "-eu", "-c", smallest.text], cwd=folder, check=True)
