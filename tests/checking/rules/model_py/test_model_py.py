"""What no table of cases can say of model.py: any text, and a large one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.packing import MODEL_PY, code_faults


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@pytest.mark.parametrize("before", [b"", MODEL_PY.encode()])
def test_no_text_makes_a_rule_fail(before: bytes, tmp_path: Path, junk: bytes) -> None:
    """Otherwise one odd file stops the check."""
    faults = code_faults(tmp_path, before + junk)
    assert not [fault for fault in faults if "this rule itself failed" in fault.message]


def test_a_large_model_py_is_read_and_a_larger_one_is_said(tmp_path: Path) -> None:
    """Otherwise a table of data in model.py hides its faults."""
    for size, expected in ((400_000, "model-py-no-execute"), (600_000, "model-py-unread")):
        code = f'WORDS = "{"x" * size}"\n\n\nclass TritonPythonModel:\n    pass\n'
        assert [fault.rule for fault in code_faults(tmp_path, code)] == [expected]
