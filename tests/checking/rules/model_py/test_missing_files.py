"""Files beside model.py that it reads: whether they are there, with the real server as the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import faults, rules
from tests.checking.served import server_results
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

RULE = "model-py-missing-file"
MODEL = """\
import json
import os
from os.path import abspath, dirname, join
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils
{top}

class TritonPythonModel:
    def initialize(self, args):
        {body}

    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", r.inputs()[0].as_numpy())]) for r in requests]
"""
HELPER = """
def load(path):
    with open(path) as file:
        return file.read()
"""
# NAME is there or not.
READS = {
    "join": ('self.x = open(os.path.join(args["model_repository"], args["model_version"], "NAME")).read()', ""),
    "file": ('here = dirname(abspath(__file__)); self.x = open(join(here, "NAME"), encoding="utf-8").read()', ""),
    "constant": ("self.x = open(PATH).read()", 'PATH = Path(__file__).resolve().parent / "NAME"'),
    "import": ("pass", 'X = [line for line in open(Path(__file__).with_name("NAME"))]'),
    "helper": ('self.x = load(join(args["model_repository"], "NAME"))', HELPER),
    "helper-twice": ('h = dirname(__file__); self.x = load(join(h, "labels.txt")) + load(join(h, "NAME"))', HELPER),
    "f-string": ("""self.x = Path(f"{args['model_repository']}/{args['model_version']}/NAME").read_text()""", ""),
    "plus": ('self.x = open(args["model_repository"] + "/1/" + "NAME").read()', ""),
    "percent": ('self.x = open("%s/1/NAME" % args["model_repository"]).read()', ""),
    "format": ('self.x = open("{}/{}".format(args.get("model_repository"), "NAME")).read()', ""),
    "parents": ('self.x = (Path(__file__).parents[1] / "NAME").open().read()', ""),
    "utilities": ('self.x = np.loadtxt(pb_utils.get_model_dir() + "/NAME", dtype=str)', ""),
    "beside": ('self.x = open(join(args["model_repository"], "..", args["model_name"], "NAME")).read()', ""),
    "loop": ('self.x = [open(join(args["model_repository"], n)).read() for n in ("labels.txt", "NAME")]', ""),
    "attribute": ('self.at = args["model_repository"]; self.x = json.load(open(join(self.at, "data", "NAME")))', ""),
}
IN, OPEN = " " * 8, 'open(join(args["model_repository"], "NAME"))'
# What nobody can be sure of: NAME is never there, and the server loads them.
UNSURE = {
    "asked": ('p = Path(__file__).parent / "NAME"; self.x = p.read_text() if p.exists() else ""', ""),
    "returned": (f'self.x = ""\n{IN}if "labels" not in args:\n    {IN}return\n{IN}self.x = {OPEN}.read()', ""),
    "caught": (f"try:\n    {IN}self.x = load(join(dirname(__file__), 'NAME'))\n{IN}except OSError: pass", HELPER),
    "made": ('p = join(dirname(__file__), "NAME"); open(p, "w").close(); self.x = open(p).read()', ""),
    "never": ('self.x = lambda: open(join(dirname(__file__), "NAME")).read()', ""),
    "other": (f'p = args["model_repository"]\n{IN}if p:\n    {IN}p = "/etc"\n{IN}open(join(p, "passwd"))', ""),
}


def example(code: tuple[str, str], file: str) -> Example:
    body, top = (part.replace("NAME", file) for part in code)
    files = dict.fromkeys(("labels.txt", "1/labels.txt", "data/labels.txt"), "1\n")
    files["1/model.py"] = MODEL.replace("{body}", body).replace("{top}", top)
    return Example(python_model(), files)


@pytest.mark.verdicts
def test_the_server_agrees_on_files(tmp_path: Path) -> None:
    """Otherwise a model whose labels were forgotten is deployed, or one that is right is refused."""
    examples = {name: example(code, "label.txt") for name, code in UNSURE.items()}
    examples |= {f"{name}.there": example(code, "labels.txt") for name, code in READS.items()}
    missing = {f"{name}.missing": example(code, "label.txt") for name, code in READS.items()}
    results = server_results(examples | missing, tmp_path)
    assert {name for name, result in results.items() if not result.loaded} == missing.keys()
    places = [fault.place.path for fault in faults(tmp_path / "models") if fault.rule == RULE]
    assert {place.rpartition("/models/")[2].split("/")[0] for place in places} == missing.keys()


@pytest.mark.parametrize("kept", [True, False])
def test_the_folder_of_a_tokenizer_is_there(kept: bool, tmp_path: Path) -> None:
    """Otherwise transformers takes the path for a name on a hub, and says so in a message that nobody understands."""
    body = 'self.x = AutoTokenizer.from_pretrained(join(args["model_repository"], "tokenizer"))'
    stage(example((body, "from transformers import AutoTokenizer"), ""), tmp_path, "m")
    if kept:
        (tmp_path / "m/tokenizer").mkdir()
    assert (RULE in rules(tmp_path)) is not kept


def test_a_file_with_another_name_is_proposed(tmp_path: Path) -> None:
    stage(example(READS["parents"], "label.txt"), tmp_path, "m")
    (fault,) = (fault for fault in faults(tmp_path) if fault.rule == RULE)
    assert fault.cure == "did you mean 'labels.txt'?"
