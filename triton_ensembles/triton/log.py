"""Extracts the reasons of failures from tritonserver's log, in Triton's words.

A line looks like ``E1121 09:04:49.399448 3756 model_lifecycle.cc:642] "failed to load 'm' version 1: Internal: …"``;
a Python exception's message may continue on further lines, up to one that ends with the closing quote.
"""

import re
from pathlib import Path

_FAILED = re.compile(r"\] \"failed to load '(?P<model>[^']+)' version (?P<version>\d+): (?P<reason>.*)", re.DOTALL)
_POLLED = re.compile(r"\] \"Poll failed for model directory '(?P<model>[^']+)': (?P<reason>.*)", re.DOTALL)
_ERROR = re.compile(r"^error: (?P<reason>.*)", re.DOTALL)
_LISTEN = re.compile(r"\] \"failed to start (?P<model>.*?) service: (?P<reason>.*)", re.DOTALL)
_LOADING = re.compile(r"\] \"loading: ")
_WRITER = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\S* (\d+) ")
_USAGE = re.compile(r"^\S*tritonserver: (?P<reason>.*)")  # getopt's message, before two screens of help
_NEW_RECORD = re.compile(r"^(\S*tritonserver: |[IWEF]\d{4} \d\d:\d\d:\d\d|error: |\+---|\| )")


def failure_reasons(log: str) -> list[str]:
    """Why a server or its models did not start: one line each, the most specific first, without repetitions.

    The list is empty if the log names no reason.
    """
    found: dict[str, None] = {}
    for pattern in (_POLLED, _FAILED, _LISTEN, _USAGE, _ERROR):
        for record in _records(log):
            if match := pattern.search(record):
                names = match.groupdict()
                model = f"{names['model']}: " if "model" in names else ""
                found.setdefault(model + _one_line(match["reason"]))
    return list(found)


def began_to_load(log: str) -> bool:
    """Whether the server has begun to load a model. With ``--log-info=false`` it never says so."""
    return _LOADING.search(log) is not None


def read_failure(log: str) -> str:
    """The reasons in this log as one line, or its last line if it names none."""
    reasons = failure_reasons(log)
    if reasons:
        specific = [reason for reason in reasons if not reason.startswith("creating server: ")]
        return "; ".join(specific or reasons)
    lines = [line for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else "the server wrote no log"


def read_records(path: Path, start: int, pid: int) -> str:
    """The part of the log file at ``path`` from byte ``start`` on, without records of processes other than ``pid``.

    Several servers may write to one file. A file that is now shorter than ``start`` is read from its beginning.
    """
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(start if start <= path.stat().st_size else 0)
        text = file.read().decode(errors="replace")
    return "\n".join(record for record in _records(text) if (by := _WRITER.match(record)) is None or int(by[1]) == pid)


def _records(log: str) -> list[str]:
    records: list[str] = []
    for line in log.splitlines():
        if _NEW_RECORD.match(line) or not records:
            records.append(line)
        else:
            records[-1] += "\n" + line
    return records


def _one_line(reason: str) -> str:
    """Drop the traceback ("At: file(line): function") and the closing quote; keep the message itself."""
    message = re.split(r"\n\s*At:\s*\n", reason.replace("\\n", "\n").strip())[0]  # Triton writes newlines as \\n
    return " ".join(message.split()).strip().strip('"').rstrip(".")
