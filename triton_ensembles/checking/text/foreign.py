"""Texts that are not protobuf's text format at all, by what only they have."""

import re
from typing import NamedTuple

from triton_ensembles.checking.text.parsed import TextFault

RULE = "config-other-format"


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    message: str
    cure: str


def _form(pattern: str, message: str, cure: str) -> _Form:
    return _Form(re.compile(pattern, re.MULTILINE), message, cure)


_PROTOBUF = 'write protobuf text: name: "…" max_batch_size: 8 input [ { name: "…" data_type: TYPE_FP32 dims: [ 4 ] } ]'
_FORMS = (
    _form(r"^(?:<{7}|>{7})(?:[ \t].*)?$", "a merge conflict was never resolved", "keep one of the two sides"),
    _form(r"\A\s*version https://git-lfs", "this is a pointer of Git LFS, not the file", "run git lfs pull"),
    _form(r"\A\s*(?:\{\s*[\"'}]|\[\s*[\"{])", "this is JSON, not protobuf text", _PROTOBUF),
    _form(r"\A\s*<(?:[!?]|[A-Za-z][\w-]*[\s>/])", "this is HTML or XML, not protobuf text", "download the raw file"),
    _form(r"^[ \t]*```", "this was copied with the fences of Markdown", "delete the lines with ```"),
    _form(r"^(?:diff --git |@@ -\d)", "this is a patch, not protobuf text", "apply it to the file"),
    _form(r"^---[ \t]*$|^[ \t]*-[ \t]+(?:\{|[A-Za-z_]\w*:(?:\s|$))", "this is YAML, not protobuf text", _PROTOBUF),
    _form(r"^[ \t]*\[\[?[A-Za-z_][\w.]*\]?\][ \t]*$", "this is TOML or INI, not protobuf text", _PROTOBUF),
)


def other_format(text: str) -> TextFault | None:
    """The fault of a text in another format, None for what may be protobuf text."""
    for form in _FORMS:
        if match := form.pattern.search(text):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            return TextFault(RULE, start, form.message, form.cure)
    return None
