"""``check --run``: every model in the real server, and each failure where its line can be told."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checkout import ROOT
from tests.chain import NAME, write_chain
from tests.commands.projects import run_in
from tests.files import edit, write_files
from tests.onnx_files import write_network
from tests.repositories import pack, write_ensemble
from triton_ensembles.building.built import Built
from triton_ensembles.commands.check import check_command
from triton_ensembles.ground import extras

FP32 = "data_type: TYPE_FP32, dims: [ 2 ]"
GPU = "instance_group [ { kind: KIND_GPU } ]\n"
ANY = "data_type: TYPE_FP32, dims: [ -1 ]"
TEXT = "data_type: TYPE_STRING, dims: [ 1 ]"
DOUBLE = 'pb_utils.Tensor("Y", pb_utils.get_input_tensor_by_name(request, "X").as_numpy() * 2)'


def config(taken: str = FP32, made: str = FP32, more: str = "") -> str:
    return (
        'backend: "python"\nmax_batch_size: 8\n'
        f'input [ {{ name: "X", {taken} }} ]\noutput [ {{ name: "Y", {made} }} ]\n{more}'
    )


ANSWER = f"return pb_utils.InferenceResponse([{DOUBLE}])"


def code(answer: str = ANSWER, load: str = "pass") -> str:
    """A model.py whose method ``answer``, for one request, has these lines; so has ``initialize`` those of ``load``."""
    indented = "\n".join(f"        {line}" for line in answer.splitlines())
    return f"""\
import json
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        {load}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
{indented}
"""


WORD = 'word = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()[0][0].decode()\n'
SPARE = 'input [ { name: "K", data_type: TYPE_INT32, dims: [ 1 ], optional: true } ]\n'
SEQUENCE = """\
sequence_batching {
  control_input [
    { name: "START", control [ { kind: CONTROL_SEQUENCE_START, fp32_false_true: [ 0, 1 ] } ] },
    { name: "ID", control [ { kind: CONTROL_SEQUENCE_CORRID, data_type: TYPE_UINT64 } ] }
  ]
}
"""
STREAM = """\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range(3):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.full((1, 2), number, np.float32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
CALL = """\
call = pb_utils.InferenceRequest(
    model_name="CALLEE", requested_output_names=["Y"], inputs=[pb_utils.get_input_tensor_by_name(request, "X")]
)
response = call.exec()
if response.has_error():
    raise pb_utils.TritonModelException(response.error().message())
return pb_utils.InferenceResponse(response.output_tensors())"""
SAFE = """\
import traceback
try:
    return json.loads(str(request.request_id()) or "[")
except Exception:
    raise pb_utils.TritonModelException(traceback.format_exc())"""
ROWS = """\
rows = json.loads(word)["rows"]
return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(rows, np.float32))])"""
FRONT = """\
text = b'{"rows": [[1, 2]]}'
return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([[text]], np.object_))])"""
SAYS = """\
columns = len(str(request))
return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"no use for {columns} columns"))"""
LOOKED_UP = """\
table = {"a": 1}
return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.full((1, 2), table[word], np.float32))])"""
EXAMPLE = '{"inputs": [{"name": "X", "datatype": "BYTES", "shape": [1, 1], "data": ["a"]}]}'
PICKY = """\
if word.startswith(str("{")):  # or: raise ValueError("no rows")
    print("ValueError( no rows")
    raise ValueError("no rows")
return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([[1, 2]], np.float32))])"""
TWICE = ("[self.answer(request) for request in requests]", "[self.answer(requests[0])] * (len(requests) + 1)")
NOT_OFFLINE = 'open("/".join([args["model_repository"], "vocabulary-of-" + args["model_name"]]))'
MODELS: dict[str, tuple[str, str]] = {
    "good": (config(), code()),
    "optional": (config(more=SPARE), code()),
    "ragged": (config(f"{ANY}, allow_ragged_batch: true", ANY), code()),
    "sequence": (config(more=SEQUENCE), code()),
    "stream": (config(more="model_transaction_policy { decoupled: true }\n"), STREAM),
    "router": (config(), code(CALL.replace("CALLEE", "good"))),
    "router_of_init": (config(), code(CALL.replace("CALLEE", "init"))),
    "tokenizer": (config(TEXT), code(WORD + 'table = {"a": 1}\nreturn table[word]')),
    "init": (config(), code(load='self.part = {"a": 1}[args["model_name"]]')),
    "absent": (config(), code(load=f"self.words = {NOT_OFFLINE}")),
    "shape": (config(), code(ANSWER.replace("* 2", ".sum(axis=int(1))"))),
    "dtype": (config(), code(ANSWER.replace("* 2", ".astype(np.dtype(str('f8')))"))),
    "texts": (config(made=TEXT), code(ANSWER.replace("* 2", ".astype(np.dtype(str('U3')))"))),
    "bare": (config(), code(ANSWER.replace("[", "").replace("])", ")"))),
    "twice": (config(), code().replace(*TWICE)),
    "ends": (config(), code(load="import sys; sys.exit(3)")),
    "picky": (config(TEXT), code(WORD + PICKY)),
    "says": (config(), code(SAYS)),
    "wrapped": (config(), code(SAFE)),
    "front": (config(TEXT, TEXT), code(FRONT)),
    "rows": (config(TEXT), code(WORD + ROWS)),
    "exampled": (config(TEXT), code(WORD + LOOKED_UP)),
    "example": (config(TEXT), code(WORD + LOOKED_UP)),
    "on_gpu": (config(more=GPU), code()),
    "plan": (config().replace('backend: "python"', 'platform: "tensorrt_plan"'), ""),
}
ENSEMBLES: Mapping[str, tuple[str, ...]] = {
    "works": ("good", "good"),
    "of_sequence": ("sequence", "good"),
    "of_stream": ("stream", "good"),
    "of_dtype": ("dtype", "good"),
    "of_init": ("init", "good"),
    "of_rows": ("front", "rows"),
    "of_gpu": ("on_gpu", "plan"),
    "of_picky": ("front", "picky"),
}
LINE = {
    "tokenizer": "return table[word]",
    "init": "self.part",
    "absent": "self.words",
    "says": "no use",
    "wrapped": "return json",
    "bare": "InferenceResponse",
    "texts": "InferenceResponse",
    "twice": "def execute",
    "ends": "sys.exit",
    "picky": '    raise ValueError("no rows")',
}
# Parts of the cures, for what the rules do not find.
CURES = {
    "absent": "add the file",
    "bare": "a list of pb_utils.Tensor",
    "dtype": "answer with FP32, or write data_type: TYPE_FP64",
    "ends": "raise pb_utils.TritonModelException",
    "init": "correct the key",
    "shape": "answer with that shape",
    "texts": "astype(object)",
    "tokenizer": "write a request that it takes: tokenizer/examples/NAME.json",
    "twice": "one InferenceResponse for each request",
}
CAUSES = {
    "absent": "run-load", "dtype": "run-answer", "init": "run-load", "says": "run-request", "shape": "run-answer",
    "tokenizer": "run-request", "wrapped": "run-request", "example": "run-request",
    "bare": "run-request", "ends": "run-load", "picky": "run-request", "texts": "run-request", "twice": "run-request",
    "on_gpu": "run-untried", "plan": "run-untried", "of_gpu": "run-untried",
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository") / "models"
    for name, (text, python) in MODELS.items():
        write_files(folder / name, {"config.pbtxt": text, "1/model.py": python})
    write_files(folder / "exampled" / "examples", {"word.json": EXAMPLE})
    write_files(folder / "example" / "examples", {"word.json": EXAMPLE.replace("BYTES", "FP32")})
    write_files(folder / "plan", {"1/model.plan": b"of a GPU"})
    for name, steps in ENSEMBLES.items():
        write_ensemble(folder, name, steps)
    for name in ("of_rows", "of_picky"):
        edit(folder / name / "config.pbtxt", '"X" data_type: TYPE_FP32 dims: [ 2 ]', f'"X" {TEXT}')
    write_files(folder / "network", {"config.pbtxt": 'backend: "onnxruntime"\nmax_batch_size: 8\n'})
    write_network(folder / "network" / "1" / "model.onnx")
    return folder


def check(*arguments: object) -> Result:
    return CliRunner().invoke(check_command, [str(argument) for argument in arguments], catch_exceptions=False)


def faults(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["faults"]
    return [fault for fault in found if fault["rule"].startswith("run-")]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_each_cause_is_one_fault_at_its_line_and_nothing_else_is_one(models: Path) -> None:
    """Neither ensembles of such models, nor a step that works where it is used, nor any kind of request; and what this
    machine cannot run is a note: otherwise nobody whose models are for a GPU can run the others here."""
    before = contents(models)
    result = check("--run", models, "--format", "json")
    assert result.exit_code == 1 and contents(models) == before
    named = {Path(fault["path"]).relative_to(models).parts[0]: fault for fault in faults(result)}
    assert len(faults(result)) == len(named)
    assert {name: fault["rule"] for name, fault in named.items()} == CAUSES
    assert "loading good" in result.stderr and "loading plan" not in result.stderr
    for name, text in LINE.items():
        fault = named[name]
        assert text in Path(fault["path"]).read_text().splitlines()[fault["line"] - 1], fault
    for name, text in CURES.items():
        assert text in named[name]["cure"], named[name]
    assert named["picky"]["message"].startswith("'of_picky' fails in its step 'picky' on ")
    assert Path(named["example"]["path"]).name == "word.json"
    assert "KeyError: 'An example sentence.'" in named["tokenizer"]["effect"]
    assert "vocabulary-of-absent" in named["absent"]["effect"] and str(models) not in named["absent"]["effect"]
    assert "FP64" in named["dtype"]["message"] and "TYPE_" not in named["dtype"]["message"]
    assert named["shape"]["line"] == 4 and "[1], and the config says [1, 2]" in named["shape"]["message"]


def test_an_archive_in_every_format_and_a_comment_that_accepts(models: Path, tmp_path: Path) -> None:
    archive = pack(models, tmp_path / "a.tar.gz", "init", "good", "of_init")
    github = check("--run", archive, "--format", "github")
    assert "title=run-load::init/1/model.py: 'init' does not load%0Athe server says: Inter" in github.stdout
    sarif = json.loads(check("--run", archive, "--format", "sarif").stdout)
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["run-load"]
    shutil.copytree(models / "init", tmp_path / "init")
    python = tmp_path / "init" / "1" / "model.py"
    python.write_text(python.read_text().replace('"model_name"]]', '"model_name"]]  # check: ignore[run-load] later'))
    accepted = check("--run", tmp_path / "init")
    assert (accepted.exit_code, "1 suppressed" in accepted.stdout) == (0, True), accepted.stdout
    assert check(tmp_path / "init").stdout.startswith("no faults")  # the comment is not one too many without --run


@pytest.mark.slow
def test_a_model_that_hangs_or_dies_does_not_hide_what_others_do(models: Path, tmp_path: Path) -> None:
    sleeps = "import time\ntime.sleep(float(600))\n"
    dies = 'import ctypes\nctypes.string_at(int(request.request_id() or "0"))\n' + ANSWER
    codes = {
        "a_load": code(load="import time; time.sleep(float(600))"),
        "b_answer": code(sleeps + ANSWER),
        "c_dies": code(dies),
    }
    for name, python in codes.items():
        write_files(tmp_path / name, {"config.pbtxt": config(), "1/model.py": python})
    write_files(tmp_path / "broken", {"config.pbtxt": config().replace("8", "-8"), "1/model.py": code()})
    for name in ("good", "tokenizer"):
        shutil.copytree(models / name, tmp_path / name)
    result = check("--run", "--timeout", "20", tmp_path, "--format", "json")
    effects = {Path(fault["path"]).relative_to(tmp_path).parts[:1]: fault["effect"] for fault in faults(result)}
    assert effects.keys() == {(), ("a_load",), ("b_answer",), ("c_dies",), ("tokenizer",)}
    assert "the load did not end within 20 s" in effects["a_load",]
    assert "no answer within 20 s" in effects["b_answer",]
    lines = {Path(fault["path"]).relative_to(tmp_path).parts[:1]: fault["line"] for fault in faults(result)}
    assert lines["b_answer",] == code().splitlines().index("    def execute(self, requests):") + 1
    assert "is not healthy" in effects["c_dies",]
    assert next(fault for fault in faults(result) if fault["rule"] == "run-untried")["message"] == "not run: 'broken'"


def test_a_healthy_model_beside_a_faulty_ensemble_of_the_folders_name_is_not_accused(tmp_path: Path) -> None:
    """The ensemble is left out, and what becomes of it is not what became of the only model that is left."""
    maps = 'input_map { key: "X", value: "X" }, output_map { key: "Y", value: "Y" }'
    step = f'step [ {{ model_name: "lost", model_version: -1, {maps} }} ]'
    ensemble = f'platform: "ensemble"\n{config().partition(chr(10))[2]}ensemble_scheduling {{ {step} }}\n'
    files = {"both/both/config.pbtxt": ensemble, "both/both/1/README.md": "", "both/whole/config.pbtxt": config()}
    write_files(tmp_path, files | {"both/whole/1/model.py": code()})
    result = CliRunner().invoke(check_command, ["--run", str(tmp_path / "both")])
    assert "lost" in result.output
    assert "both/whole" not in result.output, result.output


def test_a_missing_engine_is_refused_before_the_start_in_the_words_of_serve(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda module: module != "onnxruntime")
    refused = run_in(tmp_path, "check", "--run", models / "network")
    served = run_in(tmp_path, "serve", models / "network")
    words = "model 'network' (onnxruntime) needs the package onnxruntime, which is not installed"
    assert (refused.exit_code, words in refused.output, words in served.output) == (2, True, True)
    write_files(tmp_path / "own", {"manifest.json": '{"python": "3.99"}'})
    shutil.copytree(models / "network", tmp_path / "own" / "network")
    output = run_in(tmp_path, "serve", tmp_path / "own").output
    lines = [line for line in output.splitlines() if words in line]
    assert lines and ", and there is no Python 3.99 with a shared library" in lines[0], output
    assert "; run: " in lines[0] and "pyenv install 3.99" in lines[0]


def test_an_ensemble_of_a_project_is_built_and_run_by_its_name(tmp_path: Path) -> None:
    write_chain(tmp_path)
    good = run_in(tmp_path, "check", "--run", NAME)
    assert good.exit_code == 0, good.output
    step = tmp_path / "ensembles" / NAME / "second" / "1" / "model.py"
    step.write_text(step.read_text() + "\n    def initialize(self, args):\n        int(args['model_name'])\n")
    bad = run_in(tmp_path, "check", "--run", NAME)
    number = len(step.read_text().splitlines())
    assert bad.exit_code == 1
    assert f"second/1/model.py:{number}: error[run-load]: 'second' does not load" in bad.stdout


def test_a_step_for_a_backend_of_nvidias_is_run_by_the_one_that_the_build_chooses(built: dict[str, Built]) -> None:
    """``bert-trt`` is a TensorRT step in git, and its ONNX file runs here."""
    result = run_in(ROOT, "check", "--run", "bert_trt")
    assert (result.exit_code, result.stdout.split(" (")[0]) == (0, "no faults in 1 repository"), result.output
    assert "asking bert_trt.bert-trt" in result.stderr
