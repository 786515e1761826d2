"""Checker and server about the same models, and how often the checker is right."""

import json
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.checking.fidelity.corpus import Case
from tests.checking.packing import folder_faults
from tests.checking.served import LoadResult, ModelLoader
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.checking.rule import Server
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.model_config import DataType, parse_config

_TIMEOUT = 15.0  # seconds for a load, and for an answer
_OF_LOADS = (Server.REFUSES, Server.DIES)


@dataclass
class Figures:
    """How many models of a class, and what became of them."""

    models: int = 0
    refused: int = 0  # by the server
    errors: int = 0  # of these: the checker has an error
    warnings: int = 0  # it only warns, or has a note
    silent: int = 0  # it says nothing
    alarms: int = 0  # the server accepts the model, and the checker says that it does not
    placed: int = 0  # models with an error whose changed lines are known
    right_line: int = 0  # of these: an error is on such a line


@dataclass(frozen=True)
class Odd:
    """A model about which the two do not agree."""

    kind: str
    case: Case
    rules: list[str]
    words: str


def judge(cases: Sequence[Case], folder: Path, prefix: str) -> tuple[Figures, list[Odd]]:
    figures, odd = Figures(), list[Odd]()
    with ModelLoader(folder / "models", folder) as server:
        for number, case in enumerate(cases):
            name = f"{prefix}-{number}"
            alone = folder / "alone"
            shutil.rmtree(alone, ignore_errors=True)
            _stage(case, alone, name)
            found = folder_faults(alone, case.destination)
            staged = _stage(case, folder / "models", name)
            words = _refusal(server, name, case)
            if case.links:  # a server does not start where one leads nowhere
                shutil.rmtree(staged)
            errors = [fault for fault in found if fault.severity is Severity.ERROR]
            rules = [fault.rule for fault in found]
            figures.models += 1
            if words:
                figures.refused += 1
                kind = "errors" if errors else "warnings" if found else "silent"
                setattr(figures, kind, getattr(figures, kind) + 1)
                if kind != "errors":
                    odd.append(Odd(kind, case, rules, words))
                elif case.lines and (lines := [f.place.line for f in errors if f.place.path.endswith(case.file)]):
                    figures.placed += 1
                    figures.right_line += any(case.lines[0] <= line <= case.lines[1] for line in lines)
            elif any(case.asks or RULES_BY_ID[fault.rule].server in _OF_LOADS for fault in errors):
                figures.alarms += 1
                odd.append(Odd("alarm", case, rules, ""))
    return figures, odd


def _stage(case: Case, repository: Path, name: str) -> Path:
    folder = repository / stage(case.example, repository, name)
    for path, target in case.links.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).symlink_to(target)
    return folder


def _refusal(server: ModelLoader, name: str, case: Case) -> str:
    """What the server says against the model, "" when it loads it, and answers if it is asked."""
    for called in sorted({path.partition("/")[0] for path in case.example.beside if case.asks}):
        server.load(called, _TIMEOUT)
    results = (server.load(name, _TIMEOUT) for _ in range(3))  # on a busy machine a server may be lost by chance
    result = next((result for result in results if result.survived), LoadResult(False, "the server hangs or dies"))
    if not result.loaded or not case.asks:
        return "" if result.loaded else result.words or "refused"
    try:
        answer = json.loads(server.ask(name, {"inputs": list(_zeros(case))}, _TIMEOUT))
        answered = {output["name"] for output in answer.get("outputs", ())}
        missing = {output.name for output in parse_config(case.example.config or "", "").output} - answered
        return answer.get("error") or (f"the answer lacks {missing}" if missing else "")
    except OSError as error:
        server.kill()
        return f"no answer: {error}"


def _zeros(case: Case) -> Iterator[dict[str, object]]:
    config = parse_config(case.example.config or "", "")
    for tensor in config.input:
        shape = [*([1] if config.max_batch_size else []), *(abs(dim) for dim in tensor.dims)]
        datatype = DataType.Name(tensor.data_type).removeprefix("TYPE_")
        yield {"name": tensor.name, "datatype": datatype, "shape": shape, "data": [0] * math.prod(shape)}
