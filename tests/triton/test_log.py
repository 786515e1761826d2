"""Reasons out of Triton's log, read off lines that tritonserver 2.51.0 really wrote."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.triton.log import failure_reasons, read_records

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


def test_a_flag_that_the_server_does_not_know_is_named_and_not_the_help_after_it() -> None:
    log = "entry point says hello\n/x/bin/tritonserver: unrecognized option '--colour'\nUsage: tritonserver [options]\n"
    assert failure_reasons(log) == ["unrecognized option '--colour'"]


def test_of_a_log_that_servers_share_each_reads_its_own_lines(tmp_path: Path) -> None:
    first = 'I1121 09:44:12.1 7 a.cc:1] "mine"\n goes on\n'
    (tmp_path / "log").write_text(first + 'I1121 09:44:12.1 8 a.cc:1] "theirs"\nand on\n' + first)
    assert read_records(tmp_path / "log", 0, 7) == (first + first).rstrip("\n")
    assert read_records(tmp_path / "log", len(first), 7) == first.rstrip("\n")
    assert read_records(tmp_path / "log", 10_000, 8).endswith("and on")  # it was cut since then


@given(st.text())
def test_any_log_can_be_read(log: str) -> None:
    assert all("\n" not in reason for reason in failure_reasons(log))
