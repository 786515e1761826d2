"""The command ``status``; what it shows is tested with all commands in test_deploy.py."""

import pytest

from tests.commands.conftest import Run
from triton_ensembles.commands.status import status


def test_a_wrong_name_of_an_endpoint_is_refused(run: Run) -> None:
    """The error says which names are valid; AWS is not asked."""
    result = run(status, "--endpoint", "no_such")
    assert str(result.exception).startswith("'no_such' is not a valid endpoint name; use letters and digits")


def test_without_a_region_the_error_says_how_to_set_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise boto3's NoRegionError would be a traceback."""
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    assert str(run(status).exception) == "no AWS region is set; export AWS_DEFAULT_REGION, for example us-east-1"
