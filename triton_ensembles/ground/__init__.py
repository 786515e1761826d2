"""Errors, files, processes and the like: it imports nothing else of the package."""
