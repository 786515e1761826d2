"""The version of the package, which pyproject.toml states also."""

__version__ = "0.2.0"
