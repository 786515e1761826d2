"""Reasons are extracted from lines that tritonserver 2.51.0 wrote."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.triton.log import failure_reasons, read_failure, read_records


def test_a_flag_that_is_not_known_is_one_line_without_help() -> None:
    log = "hello\n/x/bin/tritonserver: unrecognized option '--color'\nUsage: tritonserver [options]\n"
    assert failure_reasons(log) == ["unrecognized option '--color'"]


def test_a_crash_names_what_was_being_loaded() -> None:
    """Otherwise the last line of a stack trace is all that people get."""
    loading = 'I1121 09:44:12.1 1 model_lifecycle.cc:472] "loading: {}:1"\n'
    log = loading.format("a") + loading.format("b")
    log += "I1121 09:44:12.2 1 model_lifecycle.cc:839] \"successfully loaded 'a'\"\nSignal (11) received.\n 0# 0x5\n"
    assert read_failure(log) == ["it crashed with signal 11 while it loaded b"]


def test_an_environment_after_one_that_cannot_be_unpacked_is_not_blamed_for_its_folder() -> None:
    line = "E1129 18:37:24.1 1 model_lifecycle.cc:642] \"failed to load '{}' version 1: Internal: {}\"\n"
    second = "Failed to create environment directory for '/tmp/python_env_8LiR21/0'."
    reasons = failure_reasons(line.format("a", "archive_read_data_block() failed") + line.format("b", second))
    assert reasons[1] == "b: Internal: its environment is not tried after one that failed"
    assert "/tmp/python_env_8LiR21/0" in failure_reasons(line.format("b", second))[0]  # of a full disk


def test_each_server_reads_its_own_lines_of_a_shared_log(tmp_path: Path) -> None:
    first = 'I1121 09:44:12.1 7 a.cc:1] "mine"\n goes on\n'
    (tmp_path / "log").write_text(first + 'I1121 09:44:12.1 8 a.cc:1] "theirs"\nand on\n' + first)
    assert read_records(tmp_path / "log", 0, 7) == (first + first).rstrip("\n")
    assert read_records(tmp_path / "log", len(first), 7) == first.rstrip("\n")
    assert read_records(tmp_path / "log", 10_000, 8).endswith("and on")  # it has been truncated since


@given(st.text())
def test_any_log_can_be_read(log: str) -> None:
    assert all("\n" not in reason for reason in failure_reasons(log))
