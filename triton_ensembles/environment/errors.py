"""The one fault that doesn't stop the build: a provider that can't be used here, so that the next one is tried."""

from __future__ import annotations


class ProviderUnavailableError(Exception):
    """The provider isn't there, or can't reach its channels; the text is one line for people.

    ``installed`` says which: not being there is the usual thing and nothing to talk about.
    """

    def __init__(self, message: str, *, installed: bool = True) -> None:
        super().__init__(message)
        self.installed = installed
