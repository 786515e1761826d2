"""The settings of the fixtures: an argument of the factory, else pytest's configuration file, or its option ``-o``."""

from __future__ import annotations

import pytest

# The name in the configuration file, its default, and the help.
_SETTINGS = {
    "triton_server_arguments": ("", "Further flags of tritonserver, such as '--log-verbose=1'."),
    "sagemaker_endpoint_memory_budget": ("8G", "Memory of each instance of an endpoint."),
    "sagemaker_endpoint_disk_budget": ("32G", "Disk space of each instance of an endpoint."),
    "sagemaker_endpoint_region": ("us-east-1", "The region of endpoints and clients."),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, (default, text) in _SETTINGS.items():
        parser.addini(name, text, default=default)


def setting(config: pytest.Config, name: str, argument: str | None = None) -> str:
    """Return the value of a setting, where a factory was given ``argument``."""
    return str(config.getini(name)) if argument is None else argument
