"""The settings of the fixtures: an argument of the factory, else the command line, else pytest's configuration file."""

from __future__ import annotations

import pytest

# The name in the configuration file, its default, and the help; on the command line the name has dashes.
_SETTINGS = {
    "triton_server_arguments": ("", "Further flags of tritonserver, such as '--log-verbose=1'."),
    "sagemaker_endpoint_memory_budget": ("8G", "Memory of each instance of an endpoint."),
    "sagemaker_endpoint_disk_budget": ("32G", "Disk space of each instance of an endpoint."),
    "sagemaker_endpoint_region": ("us-east-1", "The region of endpoints and clients."),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("triton-ensembles", "tritonserver and SageMaker endpoints")
    for name, (default, text) in _SETTINGS.items():
        option, metavar = f"--{name.replace('_', '-')}", name.rpartition("_")[2].upper()
        group.addoption(option, dest=name, metavar=metavar, help=f"{text}  [default: {default}]")
        parser.addini(name, text, default=default)


def setting(config: pytest.Config, name: str, argument: str | None = None) -> str:
    """The value of a setting, where a factory was given ``argument``."""
    value = config.getoption(name) if argument is None else argument
    return str(config.getini(name) if value is None else value)
