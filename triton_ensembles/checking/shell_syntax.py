"""Names that a shell does not take as they stand."""

import re

# Separators, quotes, redirections, comments, variables and braces to expand.
SHELL_SYNTAX = re.compile(
    r"""[ \t\n'"`\\&;|<>()]|\A\#|\$[A-Za-z0-9_@*\#?$!({-]"""
    r"""|\{[^{}]*,[^{}]*\}|\{(?:-?\d+\.\.-?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.-?\d+)?\}"""
)
