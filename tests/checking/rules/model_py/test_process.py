"""What model.py takes from its process: the arguments and the environment variables of a stub."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, faults
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

ABOUT = {"model-py-arguments-of-process", "model-py-environment-variable"}
ASKED = "if 'SIZE' in os.environ:\n    X = os.environ['SIZE']"


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("X = sys.argv[1]", "error"),
        ("X = sys.argv[0], sys.argv[-1], sys.argv[1:]", ""),
        ("X = sys.argv[1] if len(sys.argv) > 1 else ''", ""),
        ("sys.argv.append('x')\nX = sys.argv[1]", ""),
        ("sys.argv = ['', 'x']\nX = sys.argv[1]", ""),
        ("X = int(os.environ['LABELS'])", "warning"),
        ("from os import environ\nNAME = 'LABELS'\nX = environ[NAME]", "warning"),
        ("X = os.environ.get('LABELS'), os.environ['HOME'], os.environ['SAGEMAKER_REGION']", ""),
        ("os.environ['LABELS'] = '1'\nX = os.environ['LABELS']", ""),
        ("os.environ.setdefault('LABELS', '1')\nX = os.environ['LABELS']", ""),
        ("from dotenv import load_dotenv\nload_dotenv()\nX = os.environ['LABELS']", ""),
        ("try:\n    X = os.environ['LABELS']\nexcept KeyError:\n    X = ''", ""),
        (ASKED, ""),
        ("def later():\n    return os.environ['LABELS']", ""),
    ],
)
def test_what_a_stub_gets(line: str, severity: str, tmp_path: Path) -> None:
    """Otherwise a model that was tried as a script does not load, or one that asks first is refused."""
    code = f"import os\nimport sys\n{line}\n{MODEL_PY}"
    stage(Example(python_model(), {"1/model.py": code}), tmp_path, "m")
    severities = [fault.severity for fault in faults(tmp_path) if fault.rule in ABOUT]
    assert severities == ([severity] if severity else [])
