"""The models about which checker and server are asked: examples of rules, mutants of what loads, random ensembles."""

import difflib
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from checkout import ROOT
from tests.checking import test_cases
from tests.checking.configs import changed, mutated
from tests.checking.packing import MODEL_PY
from triton_ensembles.checking.examples import STEPS, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.rule import Example, Server
from triton_ensembles.checking.staging_example import default_files
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import format_config, parse_config

CONFIG, CODE = "config.pbtxt", "1/model.py"
_WORD = re.compile(r"\w+")


class Case(NamedTuple):
    """A model, and the lines of its ``file`` that were changed: (first, last), None when nothing was."""

    example: Example
    file: str = CONFIG
    lines: tuple[int, int] | None = None
    asks: bool = False  # whether a request is sent, too
    destination: Destination = Destination(device="cpu")
    links: Mapping[str, str] = {}  # symbolic links in its folder, path to target


_GOOD = [rule.good for rule in RULES if rule.good and rule.good_loads and not rule.good.folder and not rule.since]
_STYLES = test_cases.read(next(path for path in test_cases.TABLES if path.stem == "public-styles"))
_PLAIN = [case for case in _STYLES["cases"].values() if not (case["says"] or "beside" in case or "loads" in case)]
_LOADED = [test_cases.example(_STYLES, case, "model") for case in _PLAIN]
_CONFIGS = [example for example in (*_GOOD, *_LOADED) if example.config and "{ " in example.config]
_CONFIGS = [example for example in _CONFIGS if re.search("python|ensemble", example.config or "")]
_CODES = {MODEL_PY: {CODE: MODEL_PY}}  # with the other files of their models
_CODES |= {files[CODE]: files for example in _GOOD if CODE in (files := dict(example.files or {}))}
# The server of the tests completes no config, and has no models to call.
_CODES_OF_LOADS = sorted(code for code in _CODES if not re.search("auto_complete_config|InferenceRequest", code))
_LINKED = {
    CODE: """\
import helper
from base import Base
import triton_python_backend_utils as pb_utils


class TritonPythonModel(Base):
    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X")
        call = pb_utils.InferenceRequest(model_name="callee", requested_output_names=["Y"], inputs=[x])
        answer = call.exec()
        if answer.has_error():
            raise pb_utils.TritonModelException(answer.error().message())
        y = pb_utils.get_output_tensor_by_name(answer, "Y").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", helper.scaled(y, self.factor))])
""",
    "1/base.py": """\
from abc import ABC, abstractmethod


class Base(ABC):
    def initialize(self, args):
        self.factor = 2

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    @abstractmethod
    def answer(self, request): ...
""",
    "1/helper.py": """\
from settings import SIZE


def scaled(x, factor):
    return (x * factor)[:, :SIZE]
""",
    "1/settings.py": "SIZE = 4\n",
}
_CALLED = {"callee/config.pbtxt": python_model(), "callee/1/model.py": MODEL_PY}


def _lines(before: str, after: str) -> tuple[int, int] | None:
    """The lines of ``after`` that differ, with those around what was deleted."""
    matcher = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    spans = [code[3:] for code in matcher.get_opcodes() if code[0] != "equal"]
    return (min(start for start, _ in spans), max(max(end, start + 1) for start, end in spans)) if spans else None


@st.composite
def _settings(draw: st.DrawFn) -> Case:
    """One field of a config deleted, doubled or given another value."""
    base = draw(st.sampled_from([example for example in _CONFIGS if "$" not in (example.config or "")]))
    text = format_config(config := parse_config(base.config or "", ""))
    new = format_config(draw(changed(config, most=1)))
    return Case(Example(new, base.files or default_files(base), base.beside), CONFIG, _lines(text, new))


@st.composite
def _texts(draw: st.DrawFn) -> Case:
    base = draw(st.sampled_from(_CONFIGS))
    new = draw(mutated(base.config or "", most=1))
    files = base.files or default_files(base)
    return Case(Example(new, files, base.beside), CONFIG, _lines(base.config or "", new))


@st.composite
def _codes(draw: st.DrawFn) -> Case:
    """A line of model.py deleted, doubled, indented otherwise, or with a word misspelt, exchanged or left out."""
    code = draw(st.sampled_from(_CODES_OF_LOADS))
    text = draw(_line_changed(code))
    return Case(Example(python_model(), {**_CODES[code], CODE: text}), CODE, _lines(code, text), asks=True)


@st.composite
def _linked(draw: st.DrawFn) -> Case:
    """The same in a model of several files, which calls another one."""
    path = draw(st.sampled_from(sorted(_LINKED)))
    text = draw(_line_changed(_LINKED[path]))
    example = Example(python_model(), {**_LINKED, path: text}, _CALLED)
    return Case(example, path, _lines(_LINKED[path], text), asks=True)


@st.composite
def _links(draw: st.DrawFn) -> Case:
    """The same files, of which one, or the version folder, is a link into the called model; it may be misspelt."""
    path = draw(st.sampled_from(["1", *sorted(_LINKED)]))
    parts = {f"callee/parts/{PurePath(name).name}": text for name, text in _LINKED.items()}
    target = PurePath("../" * len(PurePath(path).parts), "callee/parts", *PurePath(path).parts[1:])
    misspelt = _line_changed(str(target)).filter(lambda text: text and "\n" not in text)
    is_right = draw(st.booleans()) or path == CODE  # a load without model.py never ends
    link = str(target) if is_right else draw(misspelt)
    files = {name: text for name, text in _LINKED.items() if name != path and path != "1"}
    return Case(Example(python_model(), files, _CALLED | parts), asks=True, links={path: link})


@st.composite
def _line_changed(draw: st.DrawFn, code: str) -> str:
    lines = code.split("\n")
    number = draw(st.sampled_from([number for number, line in enumerate(lines) if line.strip()]))
    line, words = lines[number], [match.span() for match in _WORD.finditer(lines[number])]
    start, end = draw(st.sampled_from(words)) if words else (0, 0)
    word = line[start:end]
    other = draw(st.sampled_from(_WORD.findall(code)))
    mark = draw(st.integers(0, len(line) - 1))
    misspelt = [line[:start] + new + line[end:] for new in (word[1:], word + word[-1:], other, word.swapcase())]
    moved = [f"    {line}", line[4:] if line.startswith("    ") else f" {line}", line[:mark] + line[mark + 1 :]]
    new = draw(st.sampled_from([[], [line, line], *([text] for text in (*misspelt, *moved))]))
    return "\n".join([*lines[:number], *new, *lines[number + 1 :]])


@st.composite
def _ensembles(draw: st.DrawFn) -> Case:
    """Steps whose inputs are tensors that are there, now and then one that is not, of any type and shape."""
    shapes = {"X": draw(st.sampled_from(["4", "4", "4", "-1", "2"]))}
    items, written = [], []
    for number in range(draw(st.integers(1, 4))):
        model = draw(st.sampled_from(["scale"] * 4 + ["join", "join", "pair-sum", "tokenize", "whole"]))
        config = parse_config(STEPS[model].config or "", "")
        reads = {}
        for tensor in config.input:
            fitting = [name for name, shape in shapes.items() if shape == _shape(tensor)] or list(shapes)
            if not tensor.optional:
                reads[tensor.name] = draw(st.sampled_from(fitting * 9 + list(shapes) + ["T1_Y"]))
        made = {tensor.name: f"T{number}_{tensor.name}" for tensor in config.output[: draw(st.integers(1, 2))]}
        items.append(step(model, reads, made))
        written += [(made[tensor.name], tensor) for tensor in config.output if tensor.name in made]
        shapes |= {made[tensor.name]: _shape(tensor) for tensor in config.output if tensor.name in made}
    read = set(re.findall(r'input_map \{ key: "[^"]*", value: "([^"]*)"', "".join(items)))
    unread = [(name, tensor) for name, tensor in written if name not in read] or written[-1:]
    outputs = ", ".join(
        io_tensor(name, draw(st.sampled_from(["FP32"] * 9 + ["INT32"])), ", ".join(map(str, tensor.dims)))
        for name, tensor in unread[: draw(st.sampled_from([9, 9, 9, 1]))]
    )
    size = draw(st.sampled_from([8, 8, 8, 4, 0, 16]))
    return Case(Example(ensemble(*items, inputs=io_tensor("X", dims=shapes["X"]), outputs=outputs, size=size)))


def _shape(tensor: Any) -> str:
    return ", ".join(map(str, tensor.dims))


def examples() -> Iterator[Case]:
    """Of all rules that the server can be asked about; a bad one that hangs it takes a minute."""
    for rule in RULES:
        for example in (rule.bad, rule.good if rule.good_loads else None):
            if example and not example.folder and not rule.since and rule.server in (Server.REFUSES, Server.ACCEPTS):
                yield Case(example, destination=rule.destination)


_SETTINGS = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
_DRAWN = {
    "fields of configs": _settings(),
    "texts of configs": _texts(),
    "lines of model.py": _codes(),
    "lines of linked files": _linked(),
    "symbolic links": _links(),
    "random ensembles": _ensembles(),
}
CLASSES = ("examples of the rules", *_DRAWN)


def cases(name: str, count: int, number: int) -> list[Case]:
    """The cases of a class, as :func:`drawn` has them in a process of its own: hypothesis also draws what constants the
    modules have that happen to be loaded."""
    code = f"sys.stdout.buffer.write(pickle.dumps(corpus.drawn({name!r}, {count}, {number})))"
    command = [sys.executable, "-c", f"import pickle, sys; from tests.checking.fidelity import corpus; {code}"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    return list(pickle.loads(found))


def drawn(name: str, count: int, number: int) -> list[Case]:
    """All examples of the rules, or ``count`` cases that are drawn with the seed ``number``."""
    if name not in _DRAWN:
        return list(examples())
    found: list[Case] = []

    @seed(number)
    @settings(_SETTINGS, max_examples=count)
    @given(_DRAWN[name])
    def draw(case: Case) -> None:
        found.append(case)

    run: Callable[[], None] = draw
    run()
    return found
