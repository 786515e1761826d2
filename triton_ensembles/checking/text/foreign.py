"""Texts that are not protobuf's text format at all, by what only they have."""

import re
import unicodedata

from triton_ensembles.checking.fault import Edit
from triton_ensembles.checking.text.parsed import TextFault

RULE = "config-other-format"


_PROTOBUF = 'write protobuf text: name: "…" max_batch_size: 8 input [ { name: "…" data_type: TYPE_FP32 dims: [ 4 ] } ]'
_FORMS = (
    (r"^(?:<{7}|>{7})(?:[ \t].*)?$", "a merge conflict was never resolved", "keep one of the two sides"),
    (r"\A\s*version https://git-lfs", "this is a pointer of Git LFS, not the file", "run git lfs pull"),
    (r"\A\s*(?:\{\s*[\"'}]|\[\s*[\"{])", "this is JSON, not protobuf text", _PROTOBUF),
    (r"\A\s*<(?:[!?]|[A-Za-z][\w-]*[\s>/])", "this is HTML or XML, not protobuf text", "download the raw file"),
    (r"^[ \t]*```", "this was copied with the fences of Markdown", "delete the lines with ```"),
    (r"^(?:diff --git |@@ -\d)", "this is a patch, not protobuf text", "apply it to the file"),
    (r"^---[ \t]*$|^[ \t]*-[ \t]+(?:\{|[A-Za-z_]\w*:(?:\s|$))", "this is YAML, not protobuf text", _PROTOBUF),
    (r"^[ \t]*\[\[?[A-Za-z_][\w.]*\]?\][ \t]*$", "this is TOML or INI, not protobuf text", _PROTOBUF),
)


_WIDE = re.compile(r"\"(?:[^\"\n\\]|\\.)*+\"|'(?:[^'\n\\]|\\.)*+'|#[^\n]*+|([\uff01-\uff5e\u3001\u3002])")


def narrow(text: str) -> tuple[str, list[TextFault]]:
    """The text with ASCII for the full-width characters outside of strings and comments, and one fault for them."""
    wide = [match.start() for match in _WIDE.finditer(text) if match[1]]
    if not wide:
        return text, []
    letters = list(text)
    for place in wide:
        letters[place] = {"\u3001": ",", "\u3002": "."}.get(text[place]) or chr(ord(text[place]) - 0xFEE0)
    name = unicodedata.name(text[wide[0]]).lower().replace("fullwidth", "full-width")
    more = f" (and {len(wide) - 1} more such characters further down)" if len(wide) > 1 else ""
    message = f"'{text[wide[0]]}' is a {name}, which protobuf does not take{more}"
    edits = tuple(Edit(place, place + 1, letters[place]) for place in wide)
    return "".join(letters), [TextFault("config-syntax", wide[0], message, f"write '{letters[wide[0]]}'", edits)]


def other_format(text: str) -> TextFault | None:
    """The fault of a text in another format, None for what may be protobuf text."""
    for pattern, message, cure in _FORMS:
        if match := re.search(pattern, text, re.MULTILINE):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            return TextFault(RULE, start, message, cure)
    return None
