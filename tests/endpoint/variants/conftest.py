"""The variant of the room's tests, of one's own."""

from tests.hosting.conftest import anyio_backend, host

__all__ = ["anyio_backend", "host"]
