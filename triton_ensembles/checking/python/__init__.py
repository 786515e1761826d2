"""The Python files of a model: parsed, never run; what a line does, and what a value is, or unknown."""
