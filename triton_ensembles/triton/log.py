"""Extracts the reasons of failures from tritonserver's log, in Triton's words.

A line looks like ``E1121 09:04:49.399448 3756 model_lifecycle.cc:642] "failed to load 'm' version 1: Internal: …"``;
a Python exception's message may continue on further lines, up to one that ends with the closing quote. The forms are
those of core r24.10: model_lifecycle.cc and model_repository_manager.cc in src/model_repository_manager/.
"""

import re
from pathlib import Path

_OF_A_MODEL = tuple(
    rf"\] \"{form}: (?P<reason>.*)"
    for form in (
        r"failed to load '(?P<model>.+?)' version -?\d+",
        r"failed to load model '(?P<model>.+?)'",
        r"Poll failed for model directory '(?P<model>.+?)'",
        r"failed to poll model '(?P<model>.+?)'",
        r"failed to poll model repository '[^']+' for model '(?P<model>.+?)'",
        r"failed to poll mapped path '[^']+' for model '(?P<model>.+?)'",
    )
)
# These name the model or the repository themselves.
_COMPLETE = (
    # The status of an ensemble that is not valid.
    r" model_repository_manager\.cc:\d+\] \"(?:Invalid argument|Internal|Not found|Unavailable|Unsupported"
    r"|Already exists|Cancelled|Unknown): (?P<reason>.*)",
    r"\] \"(?P<reason>failed to poll model repository '[^']+': .*)",
    r"\] \"(?P<reason>mapped path '[^']+' does not exist for model .*)",
)
# Of the server as a whole: "failed to load all models" is only a reason where no model has one.
_GENERAL = (
    r"\] \"failed to start (?P<model>.*?) service: (?P<reason>.*)",
    r"^\S*tritonserver: (?P<reason>[^\n]*)",  # getopt's message, before two screens of help
    r"^error: (?P<reason>.*)",
)
# The line and column of a syntax error, which the server's own record about the file leaves out.
_SYNTAX = re.compile(r"^\[libprotobuf ERROR [^\]]*\] Error parsing text-format [\w.]+: (?P<detail>\d+:\d+: .*)")
_UNREADABLE = "failed to read text proto from "
# An ensemble fails with the models that it is made of: "e contains models that are not available or ambiguous: a, b",
# "'e' depends on 'a' which has no loaded version. Model 'a' loading failed with error: …".
_ENSEMBLE_OF = re.compile(r"^ensemble (?P<ensemble>.+) contains models that are not available or ambiguous: (?P<of>.*)")
_DEPENDS = re.compile(r"^ensemble '(?P<ensemble>.+?)' depends on '(?P<of>.+?)' (?:which|whose)")
_CIRCLE = "circular dependency between ensembles: "
_LOADING = re.compile(r"\] \"loading: (?P<model>.+):-?\d+\"")
_LOADED = re.compile(r"\] \"(?:successfully loaded|failed to load) '(?P<model>.+?)'")
_SUCCESS = re.compile(r"\] \"successfully loaded '(?P<model>.+?)'")
# Of an environment after one that could not be unpacked (libarchive says why): Triton takes that one's folder for it.
_NOT_UNPACKED = "archive_"
_NOT_TRIED = re.compile(r"Failed to create environment directory for '/tmp/python_env_\w+/\d+'")
_WITHOUT_CODE = re.compile(r" pb_stub\.cc:\d+\] +Failed to preinitialize Python stub: (?P<reason>.*)")
_CRASH = re.compile(r"^Signal \((?P<signal>\d+)\) received", re.MULTILINE)
_ABORTED = re.compile(
    r"^terminate called after throwing an instance of '(?P<type>[^']+)'(?:\n +what\(\): +(?P<what>.*))?", re.M
)
_WRITER = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\S* (\d+) ")
_NEW_RECORD = re.compile(
    r"^(\S*tritonserver: |[IWEF]\d{4} \d\d:\d\d:\d\d|error: |Error: |\[libprotobuf |Signal \(\d+\)|\+---|\| )"
)


def failure_reasons(log: str) -> list[str]:
    """Why models did not load, or else why the server did not start: one line for each cause, with the model's name.

    An ensemble whose steps have reasons of their own is not repeated. The list is empty if the log names no reason.
    """
    records = _records(log)
    by_model: dict[str, dict[str, None]] = {}
    complete: dict[str, None] = {}
    syntax = ""
    for record in records:
        if match := _SYNTAX.search(record):
            syntax = match["detail"]
        elif match := _first(_OF_A_MODEL, record):
            reason = one_line(match["reason"])
            if reason.startswith(_UNREADABLE) and syntax:
                reason, syntax = f"{reason}:{syntax.rstrip('.')}", ""
            if match["model"] not in by_model or "failed to poll" not in match[0]:  # one is polled once
                by_model.setdefault(match["model"], {})[reason] = None
        elif match := _first(_COMPLETE, record):
            complete[one_line(match["reason"])] = None
    failures = [f"{model}: {reason}" for model, reasons in by_model.items() for reason in reasons]
    if any(_NOT_UNPACKED in failure for failure in failures):
        failures = [_NOT_TRIED.sub("its environment is not tried after one that failed", each) for each in failures]
    return [*failures, *_causes(list(complete), set(by_model))] or _general(records)


def unfinished_loads(log: str) -> list[str]:
    """The models that the server is still loading, with the reason where their stub has said why it never ends."""
    waiting: dict[str, None] = {}
    for record in _records(log):
        if match := _LOADING.search(record):
            waiting[match["model"]] = None
        elif match := _LOADED.search(record):
            waiting.pop(match["model"], None)
    reasons = [one_line(match["reason"]) for match in _WITHOUT_CODE.finditer(log)]
    messages = {model: next((reason for reason in reasons if f"/{model}/" in reason), "") for model in waiting}
    return [f"{model}: {reason}" if reason else model for model, reason in messages.items()]


def never_loaded(log: str) -> list[str]:
    """Return those of :func:`unfinished_loads` that will never end, with their reasons."""
    return [load for load in unfinished_loads(log) if ": " in load] if _WITHOUT_CODE.search(log) else []


def stuck_load(log: str, folder: Path) -> str:
    """Why the load of a model in ``folder`` will never end; "" as far as this log says.

    A stub that cannot import its model.py says so and ends; python_backend r24.10 then waits for its first message for
    ever (stub_launcher.cc, Launch).
    """
    reasons = (one_line(match["reason"]) for match in _WITHOUT_CODE.finditer(log))
    return next((reason.replace(f"{folder}/", "") for reason in reasons if f"{folder}/" in reason), "")


def loaded_models(log: str) -> list[str]:
    """The models that have been loaded, by this log, in that order."""
    return list(dict.fromkeys(match["model"] for match in _SUCCESS.finditer(log)))


def began_to_load(log: str) -> bool:
    """Return whether the server has begun to load a model. With ``--log-info=false`` it never says so."""
    return _LOADING.search(log) is not None


def read_failure(log: str) -> list[str]:
    """The reasons in this log, or that the server crashed, or its last line if it says neither."""
    if reasons := failure_reasons(log):
        return reasons
    if crash := crash_reason(log):
        models = ", ".join(unfinished_loads(log))
        return [f"{crash} while it loaded {models}" if models else crash]
    lines = [line for line in log.splitlines() if line.strip()]
    return [lines[-1] if lines else "the server wrote no log"]


def crash_reason(log: str) -> str:
    """That the server crashed, and with what; "" as far as the log does not say so."""
    if aborted := _ABORTED.search(log):
        return f"it crashed with {': '.join(filter(None, (aborted['type'], aborted['what'])))}"
    crash = _CRASH.search(log)
    return f"it crashed with signal {crash['signal']}" if crash else ""


def read_records(path: Path, start: int, pid: int) -> str:
    """The part of the log file at ``path`` from byte ``start`` on, without records of processes other than ``pid``.

    Several servers may write to one file. A file that is now shorter than ``start`` is read from its beginning.
    """
    text = read_log(path, start)
    return "\n".join(record for record in _records(text) if (by := _WRITER.match(record)) is None or int(by[1]) == pid)


def read_log(path: Path, start: int) -> str:
    """As :func:`read_records`, of all processes: the stubs of Python models too."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(start if start <= path.stat().st_size else 0)
        return file.read().decode(errors="replace")


def _first(forms: tuple[str, ...], record: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := re.search(form, record, re.DOTALL))), None)


def _causes(reasons: list[str], failed: set[str]) -> list[str]:
    """Reasons of ensembles, without those that only follow from models (or ensembles) that ``failed``."""
    matches = {reason: _ENSEMBLE_OF.match(reason) or _DEPENDS.match(reason) for reason in reasons}
    failed = failed | {match["ensemble"] for match in matches.values() if match}
    circled: set[str] = set()
    causes = []
    for reason, match in matches.items():
        if match and set(match["of"].split(", ")) <= failed:
            continue
        if reason.startswith(_CIRCLE):  # every ensemble of a circle reports it
            circle = set(reason.removeprefix(_CIRCLE).split(" -> ")) - {"..."}
            known, circled = bool(circle & circled), circled | circle
            if known:
                continue
        causes.append(reason)
    return causes


def _general(records: list[str]) -> list[str]:
    reasons: dict[str, None] = {}
    for form in _GENERAL:
        for record in records:
            if match := re.search(form, record, re.DOTALL):
                service = match.groupdict().get("model")
                reasons[f"{service}: {one_line(match['reason'])}" if service else one_line(match["reason"])] = None
    specific = [reason for reason in reasons if not reason.startswith("creating server: ")]
    return specific or list(reasons)


def _records(log: str) -> list[str]:
    records: list[str] = []
    for line in log.splitlines():
        if _NEW_RECORD.match(line) or not records:
            records.append(line)
        else:
            records[-1] += "\n" + line
    return records


def one_line(reason: str) -> str:
    """Drop the traceback ("At: file(line): function") and the closing quote; keep the message itself."""
    message = re.split(r"\n\s*At:\s*\n", reason.replace("\\n", "\n").strip())[0]  # Triton writes newlines as \\n
    return " ".join(message.split()).strip().strip('"').rstrip(".")
