"""The browser of the status page's tests."""

from tests.endpoint.conftest import browser as browser
