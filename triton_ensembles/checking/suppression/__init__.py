"""Faults that people accept: by a comment beside the line, or by pyproject.toml."""
