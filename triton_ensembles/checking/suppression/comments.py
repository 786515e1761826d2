"""Comments that accept faults, in config.pbtxt, Python files and ensemble.toml.

``# check: ignore[RULE, RULE] reason`` is about the line that it ends, or about the next line when it stands alone.
``# check: ignore-file[RULE] reason`` is about the whole file; in config.pbtxt also about the folder of the model.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "check:"  # in every such comment
_COMMENT = re.compile(r"#+\s*check:\s*ignore(?P<file>-file)?\s*(?:\[(?P<rules>[^\]\n]*)(?:\](?P<reason>.*))?|\W*)$")
# A string hides a '#'; one that its line does not close is none, and the parser reports it.
_STRINGS = r'"(?:\\[^\n]|[^"\\\n])*"' + r"|'(?:\\[^\n]|[^'\\\n])*'"
_LONG_STRINGS = r'"""(?:\\.|[^\\])*?"""' + r"|'''.*?'''"
_IN_TEXT = re.compile(rf"{_STRINGS}|(?P<comment>#[^\n]*)")
_IN_TOML = re.compile(rf"{_LONG_STRINGS}|{_STRINGS}|(?P<comment>#[^\n]*)", re.DOTALL)


@dataclass(frozen=True)
class Suppression:
    """A comment that accepts faults."""

    path: str  # of its file, as people see it
    line: int  # where it begins, from 1
    column: int
    rules: tuple[str, ...]  # the ids that it names
    reason: str  # in the words of its author; "" for none, and then it suppresses nothing
    lines: tuple[int, ...]  # those that it is about; empty for the whole file


def suppressions(path: str, text: str) -> Iterator[Suppression]:
    """The comments of a file that begin with ``check: ignore``, whether they are complete or not."""
    if MARK not in text:
        return
    text = text.removeprefix("\ufeff")  # a byte order mark, with which editors on Windows begin files
    lines = text.split("\n")
    following = _following(lines)
    for line, column, comment in _comments(path, text):
        match = _COMMENT.match(comment.rstrip())
        if match is None:
            continue
        rules = tuple(dict.fromkeys(re.findall(r"[^\s,]+", match["rules"] or "")))
        reason = (match["reason"] or "").strip(" \t:-–—")
        is_alone = not lines[line - 1][: column - 1].strip() and following[line - 1]
        about = (line, following[line - 1]) if is_alone else (line,)
        yield Suppression(path, line, column, rules, reason, () if match["file"] else about)


def carried(*configs: Path) -> str:
    """The comments of config.pbtxt files as lines about the whole file, for one that the build writes from them."""
    lines = {
        f"# {MARK} ignore-file[{', '.join(comment.rules)}] {comment.reason}\n"
        for config in configs
        for comment in suppressions(config.name, config.read_text(encoding="utf-8", errors="replace"))
        if comment.reason and comment.rules
    }
    return "".join(sorted(lines))


def _comments(path: str, text: str) -> Iterator[tuple[int, int, str]]:
    if path.endswith(".py"):
        with suppress(tokenize.TokenError, SyntaxError):  # those before the fault count
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    yield token.start[0], token.start[1] + 1, token.string
        return
    line, counted = 1, 0
    for match in (_IN_TOML if path.endswith(".toml") else _IN_TEXT).finditer(text):
        if match["comment"] and MARK in match["comment"]:
            line += text.count("\n", counted, match.start())
            counted = match.start()
            yield line, match.start() - text.rfind("\n", 0, match.start()), match["comment"]


def _following(lines: Sequence[str]) -> list[int]:
    """Return for each line the number of the next one with anything but a comment, from 1; 0 for none."""
    numbers, following = [0] * len(lines), 0
    for index in range(len(lines) - 1, -1, -1):
        numbers[index] = following
        content = lines[index].strip()
        if content and not content.startswith("#"):
            following = index + 1
    return numbers
