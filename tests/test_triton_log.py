"""Reasons out of Triton's log, read off lines that tritonserver 2.51.0 really wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.triton_log import failure_reasons

PYTHON_ERROR = (
    'I1121 09:44:12.1 1 model_lifecycle.cc:472] "loading: identity:1"\n'
    "E1121 09:44:13.2 1 model_lifecycle.cc:642] \"failed to load 'identity' version 1: Internal: "
    'ValueError: the file of weights is missing\\n\\nAt:\\n  /m/1/model.py(6): initialize\\n"\n'
    "error: creating server: Internal - failed to load all models\n"
)
POLL = (
    "E1121 10:00:00.0 1 model_repository_manager.cc:1387] \"Poll failed for model directory 'e': "
    "ensemble 'e' has no step\"\n"
)


def test_the_exception_of_a_python_model_is_one_line_without_its_traceback() -> None:
    assert failure_reasons(PYTHON_ERROR) == [
        "identity: Internal: ValueError: the file of weights is missing",
        "creating server: Internal - failed to load all models",
    ]


def test_a_config_that_was_not_even_loaded_is_named() -> None:
    assert failure_reasons(POLL) == ["e: ensemble 'e' has no step"]


def test_a_reason_that_is_repeated_is_said_once() -> None:
    assert len(failure_reasons(PYTHON_ERROR + PYTHON_ERROR)) == 2


@given(st.text())
def test_any_log_can_be_read(log: str) -> None:
    assert all("\n" not in reason for reason in failure_reasons(log))
