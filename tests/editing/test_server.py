"""The real command and a real language client: what somebody sees in an editor."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from checkout import ENSEMBLES, ROOT
from tests.editing.editor import Editor, editor, place_of
from tests.editing.pieces import ensemble, write_models
from triton_ensembles.checking.fault import Edit, with_edits
from triton_ensembles.triton.model_config import CONFIG

pytestmark = pytest.mark.anyio

BOTH = ensemble("scale", "shift")
FIRST_OUTPUT = 'key: "OUT", value: "T1"'
MISSPELT = BOTH.replace(FIRST_OUTPUT, 'key: "OUTT", value: "T1"')


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return write_models(tmp_path / "models")


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def hover(here: Editor, path: Path, at: lsp.Position) -> str:
    answer = await here.ask(here.client.text_document_hover_async, lsp.HoverParams, path, at)
    return answer.contents.value if answer else ""


async def labels(here: Editor, path: Path, at: lsp.Position) -> list[str]:
    answer = await here.ask(here.client.text_document_completion_async, lsp.CompletionParams, path, at)
    return [item.label for item in answer]


async def defined(here: Editor, path: Path, at: lsp.Position) -> lsp.Location | None:
    answer = await here.ask(here.client.text_document_definition_async, lsp.DefinitionParams, path, at)
    return answer if isinstance(answer, lsp.Location) else None


async def actions(here: Editor, path: Path, fault: lsp.Diagnostic) -> list[Any]:
    document, about = lsp.TextDocumentIdentifier(path.as_uri()), lsp.CodeActionContext([fault])
    return list(
        await here.client.text_document_code_action_async(lsp.CodeActionParams(document, fault.range, about)) or []
    )


def after(text: str, edits: Any) -> str:
    """``text`` after the edits of an editor; only for ASCII."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    offsets = [
        Edit(*(starts[at.line] + at.character for at in (each.range.start, each.range.end)), each.new_text)
        for each in edits
    ]
    return with_edits(text, offsets)


async def test_what_is_typed_counts_and_nothing_is_written(models: Path) -> None:
    """Otherwise an editor shows the faults of yesterday, or a server changes files under somebody's hands."""
    before, both = content(models), models / "both" / CONFIG
    async with editor(models) as here:
        here.open(both)
        here.write(both, MISSPELT)
        await here.until(lambda: here.rules(both))
        (fault,) = here.faults[both]
        assert fault.code == "step-output-unknown"
        assert "'scale' has no output 'OUTT'" in fault.message
        assert fault.range == lsp.Range(place_of(MISSPELT, '"OUTT"'), place_of(MISSPELT, '"OUTT"', 6))
        (action,) = await actions(here, both, fault)
        assert after(MISSPELT, action.edit.changes[both.as_uri()]) == BOTH
        here.write(both, BOTH)
        await here.until(lambda: not here.rules(both))
        # The fault is in the ensemble, and what is typed is the config of its step.
        step = models / "scale" / CONFIG
        here.open(step, step.read_text().replace('"OUT"', '"Z"'))
        await here.until(lambda: here.rules(both))
        here.close(step)
        await here.until(lambda: not here.rules(both))
        assert not here.logged
    assert content(models) == before


async def test_it_lives_on_after_every_half_word(models: Path) -> None:
    """Otherwise an editor is without it after the first letter: nearly all that is typed is no valid config."""
    both = models / "both" / CONFIG
    async with editor(models) as here:
        here.open(both)
        for end in range(0, len(BOTH), 19):
            here.write(both, BOTH[:end])
            at = lsp.Position(BOTH[:end].count("\n"), end)
            await labels(here, both, at)
            await hover(here, both, at)
            await defined(here, both, at)
        for odd in ("\0", "\ufeff" + BOTH, BOTH.replace("\n", "\r\n"), "\u2028\x0c\x85{[<", "{" * 5000, "😀" * 99):
            here.write(both, odd)
            await labels(here, both, lsp.Position(0, 9999))
            await hover(here, both, lsp.Position(9999, 0))
        here.open(models / "scale" / "1" / "model.py", "def execute(self:\n  'X")
        here.written(models / "nowhere" / CONFIG)
        for uri in ("untitled:Untitled-1", "file:///nowhere/config.pbtxt", "git:/x?y"):
            document = lsp.TextDocumentItem(uri, "pbtxt", 0, BOTH)
            here.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
            assert not await here.client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 1))
            )
        here.write(both, MISSPELT)
        await here.until(lambda: here.rules(both) == ["step-output-unknown"])
        assert not here.logged


@pytest.mark.parametrize("encodings", [None, ["utf-8", "utf-16"], ["utf-32"]])
async def test_letters_outside_of_the_basic_plane_move_nothing(models: Path, encodings: list[str] | None) -> None:
    """Otherwise what is underlined, and what a fix replaces, is two letters beside the word."""
    both, unit = models / "both" / CONFIG, (encodings or ["utf-16"])[0]
    text = MISSPELT.replace('output_map { key: "OUTT"', 'model_namespace: "😀é" output_map { key: "OUTT"')
    line = next(line for line in text.split("\n") if '"OUTT"' in line)

    def units(text: str) -> int:
        width = {"utf-16": 2, "utf-8": 1, "utf-32": 4}[unit]
        return len(text.encode(f"{unit}-le" if width > 1 else unit)) // width

    start = units(line[: line.index('"OUTT"')])
    async with editor(models, encodings) as here:
        here.open(both, text)
        await here.until(lambda: "step-output-unknown" in here.rules(both))
        fault = next(fault for fault in here.faults[both] if fault.code == "step-output-unknown")
        assert (fault.range.start.character, fault.range.end.character) == (start, start + 6)
        (action,) = await actions(here, both, fault)
        ((edit,),) = action.edit.changes.values()
        assert edit.range == fault.range
        assert await labels(here, both, lsp.Position(fault.range.start.line, start + 1)) == ["OUT"]
        step = models / "scale" / "1" / "model.py"
        code = step.read_text().replace(
            'get_input_tensor_by_name(request, "X")', 'get_input("😀é", pb_utils.get_inpt())'
        )
        here.open(step, code)
        await here.until(lambda: here.rules(step))
        line = next(line for line in code.split("\n") if "get_inpt()" in line)
        starts = {fault.range.start.character for fault in here.faults[step]}
        assert units(line[: line.index("pb_utils.get_inpt()")]) in starts


async def test_a_hover_says_what_a_field_a_value_a_name_and_a_rule_mean(models: Path) -> None:
    both, text = models / "both" / CONFIG, MISSPELT + "instance_group [ { kind: KIND_CPU } ]\n"
    async with editor(models) as here:
        here.open(both, text)
        for words, inside, says in (
            ("max_batch_size", 3, "`max_batch_size`: int32\n\nThe largest batch that Triton makes."),
            ("KIND_CPU", 3, "`KIND_CPU`: On the CPU."),
            ('"scale"', 2, "`scale`: python\n- input `X`: TYPE_FP32 [ 4 ]\n- output `OUT`: TYPE_FP32 [ 4 ]"),
            ('"T1"', 1, "tensor `T1` between the steps of `both`"),
            ('"OUTT"', 1, "What check says:"),
        ):
            assert says in await hover(here, both, place_of(text, words, inside)), words
        assert not await hover(here, both, lsp.Position(99, 0))


async def test_fields_values_models_and_tensors_are_completed(models: Path) -> None:
    both = models / "both" / CONFIG
    async with editor(models) as here:
        here.open(both)
        for text, expected in (
            ("in", {"input", "instance_group", "name"}),
            ("instance_group [ { kind: ", {"KIND_CPU", "KIND_GPU", "KIND_AUTO", "KIND_MODEL"}),
            ("input [ { data_", {"data_type", "dims", "reshape"}),
            ('backend: "', {"python", "onnxruntime"}),
            ('ensemble_scheduling { step [ { model_name: "', {"caller", "outer", "scale", "shift"}),
            ("dynamic_batching { preserve_ordering: ", {"true", "false"}),
        ):
            here.write(both, text)
            assert expected <= {*await labels(here, both, lsp.Position(0, len(text)))}, text
        half = BOTH[: BOTH.index('"T1"')] + '"'
        here.write(both, half)
        at = lsp.Position(half.count("\n"), len(half.rpartition("\n")[2]))
        assert await labels(here, both, at) == ["OUT"]  # what the output of a step may become
        for rest in ("", BOTH[BOTH.index('"T1"') + 4 :]):
            text = half.replace('value: "', 'value: "A" key: "') + rest
            here.write(both, text)
            await here.until(lambda: True)
            found = await labels(here, both, lsp.Position(at.line, at.character + len('A" key: "')))
            assert found == ["OUT"], rest


async def test_a_definition_is_the_line_of_the_other_config(models: Path) -> None:
    both, scale = models / "both" / CONFIG, models / "scale" / CONFIG
    async with editor(models) as here:
        here.open(both)
        outputs = place_of(scale.read_text(), "output [")
        for words, inside, file, line in (
            ('"scale"', 2, scale, 0),
            (FIRST_OUTPUT, 6, scale, outputs.line),
            ('value: "T1"', 8, both, place_of(BOTH, FIRST_OUTPUT).line),
            ('key: "X", value: "T1"', 19, both, place_of(BOTH, FIRST_OUTPUT).line),
        ):
            found = await defined(here, both, place_of(BOTH, words, inside))
            assert found, words
            assert (found.uri, found.range.start.line) == (file.as_uri(), line), words


async def test_files_that_others_write_or_remove_count(models: Path) -> None:
    """Otherwise after a `git checkout` the editor shows the faults of another branch."""
    both, shift = models / "both" / CONFIG, models / "shift" / CONFIG
    async with editor(models) as here:
        here.open(both)
        shift.write_text(shift.read_text().replace('"X"', '"W"'))
        here.written(shift)
        await here.until(lambda: "step-input-unknown" in here.rules(both))
        (models / "pyproject.toml").write_text("[tool.triton-ensembles.check]\nignore = ['nonsense']\n")
        here.written(models / "pyproject.toml")
        await here.until(lambda: here.rules(models / "pyproject.toml") == ["settings"])
        (models / "pyproject.toml").unlink()
        here.written(models / "pyproject.toml")
        await here.until(lambda: "step-input-unknown" in here.rules(both))
        shutil.rmtree(models)
        here.written(models)
        await here.until(lambda: not here.rules(both))
        write_models(models)
        here.open(both, MISSPELT)
        await here.until(lambda: here.rules(both) == ["step-output-unknown"])
        assert not here.logged


async def test_a_recipe_and_a_step_are_checked_too(tmp_path: Path) -> None:
    digits = Path(shutil.copytree(ENSEMBLES / "digits", tmp_path / "ensembles" / "digits"))
    recipe, text = digits / "ensemble.toml", (digits / "ensemble.toml").read_text()
    async with editor(tmp_path) as here:
        here.open(recipe)
        here.write(recipe, f"nonsense = 1\n{text}")
        await here.until(lambda: any("nonsense" in fault.message for fault in here.faults[recipe]))
        here.write(recipe, text)
        await here.until(lambda: not any("nonsense" in fault.message for fault in here.faults[recipe]))


@pytest.fixture
def running(models: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The server of an editor that has opened a file with a fault, and has its answer."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command, pipe = [sys.executable, "-m", "triton_ensembles", "lsp"], subprocess.PIPE
    document = {"uri": (models / "both" / CONFIG).as_uri(), "languageId": "pbtxt", "version": 0, "text": MISSPELT}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=models) as server:
        assert server.stdin and server.stdout
        for message in (
            {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        ):
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            server.stdin.flush()
        said = b""
        while b"step-output-unknown" not in said:
            more = os.read(server.stdout.fileno(), 1 << 16)
            assert more, "it has ended"
            said += more
        yield server
        server.kill()


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, b"Ctrl-C"), (signal.SIGTERM, b"SIGTERM")])
def test_a_signal_ends_it(running: subprocess.Popen[bytes], number: signal.Signals, word: bytes) -> None:
    """Otherwise a server that somebody started in a terminal stays until the terminal is closed."""
    running.send_signal(number)
    assert running.wait(120) == 128 + number
    assert running.stderr and running.stderr.read() == b"stopped by " + word + b"\n"


def test_the_death_of_the_editor_ends_it(running: subprocess.Popen[bytes]) -> None:
    """Otherwise servers of editors that have crashed fill the memory."""
    assert running.stdin and running.stdout and running.stderr
    running.stdout.close()
    running.stdin.close()
    assert running.wait(120) == 0
    assert running.stderr.read() == b""
