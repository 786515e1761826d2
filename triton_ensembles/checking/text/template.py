"""Placeholders of templates (shell, Jinja, CMake, printf, ERB …) that were never filled in."""

import re

# protobuf text has none of these outside of strings and comments. The lengths keep the search linear.
PLACEHOLDER = r"""\$\{\{[^{}\n]{0,200}\}\} | \$\{[^{}\n]{0,200}\} | \$\([^()\n]{0,200}\) | \$[A-Za-z_]\w{0,200}
    | \{\{[^{}\n]{1,200}\}\} | \{%(?:(?!%\}|\{%)[^\n]){0,160}%\} | \{\#(?:(?!\#\}|\{\#)[^\n]){0,160}\#\}
    | <%(?:(?!%>|<%)[^\n]){0,160}%>
    | %\([A-Za-z_]\w{0,200}\)[sdrif] | %[A-Za-z_]\w{0,200}% | @[A-Za-z_]\w{0,200}@ | __[A-Za-z]\w{0,200}?__(?!\w)"""
_SIGNS = re.compile(r"[$%@]|\{\{|\{\#|__")
# Statements that leave parts out or repeat them: what such a text becomes is not known at all.
_STATEMENT = re.compile(r"\{[%#]|<%(?!=)|\{\{-?\s*(?:[#/^!>]|(?:if|else|end|range|with|define|include|template)\b)")
_DOUBLED = re.compile(r"\{\{\s*[A-Za-z_]\w*\s*[:\[]\s|\{\{\s*\}\}")
# In quotes only what is nothing else: "<pad>" is a token, and a chat template is a value.
_QUOTED = re.compile(r"\$\{[A-Za-z_][\w.]{0,99}\}|\A\s*(?:\{\{\s*[A-Za-z_][\w.]{0,99}\s*\}\}|%[A-Za-z_]\w{0,99}%)\s*\Z")
_WORD = re.compile(r"(?!(?:TYPE|KIND)_|(?:TRUE|FALSE|NULL|NONE|NAN|INF|INFINITY|TODO)\Z)[A-Z][A-Z0-9_]{0,99}\Z")
# <x> and {x} (str.format of Python), where a number or a string belongs.
_BRACKETED = re.compile(r"<[ \t]*[A-Za-z_][\w .-]{0,100}>|\{[ \t]*(?:[A-Za-z_][\w.\[\]]{0,100})?(?:![rsa])?[ \t]*\}")


def may_have_placeholders(text: str) -> bool:
    """A quick look, since most texts have none and are read faster then."""
    return _SIGNS.search(text) is not None


def is_statement(placeholder: str) -> bool:
    """Return whether it is ``{% if … %}`` or ``{{ name: "X" }}`` (str.format of Python) instead of a value."""
    return _STATEMENT.search(placeholder) is not None or _DOUBLED.search(placeholder) is not None


def is_word_to_fill_in(text: str) -> bool:
    """Return whether it is MAX_BATCH or N, as templates have it in the place of a number."""
    return _WORD.match(text) is not None


def in_quotes(text: str) -> str:
    """The first placeholder of a string's text, "" if there is none."""
    match = _QUOTED.search(text)
    return match.group().strip() if match else ""


def in_brackets(text: str, offset: int) -> str:
    """The placeholder ``<x>`` or ``{x}`` at ``offset`` of a text, "" if there is none."""
    match = _BRACKETED.match(text, offset)
    return match.group() if match else ""
