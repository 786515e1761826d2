"""What was built is served under the Python that its manifest names; sources are looked for before the first build."""

import json
from pathlib import Path

import click
import numpy as np
import pytest
import tritonclient.http as http

from tests.commands.projects import run_in, write_ensemble
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.hosting import archives
from tests.pythons import python_or_skip
from tests.recipes import copy_recipe
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.building.built import Built
from triton_ensembles.building.request import Proof
from triton_ensembles.commands.common.builds import server_for
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.serving.served import of_built

ANSWER = "import sys; x = np.array(sys.version_info[:2], np.float32)"


def built(folder: Path, name: str, python: str) -> Built:
    manifest = {"weights": "pretrained", "python": python}
    write_files(folder / name, archives.model(name, execute=ANSWER))
    (folder / name / MANIFEST).write_text(json.dumps(manifest))
    return Built(name, folder / f"{name}.tar.gz", folder / name, "0" * 64, manifest, "", True, Proof.NONE)


def test_the_server_has_the_python_of_the_manifest(tmp_path: Path) -> None:
    python_or_skip("3.10")
    made = [built(tmp_path, "one", "3.10"), built(tmp_path, "two", "")]
    with (
        click.Context(click.Command("serve"), obj=tmp_path),
        server_for([of_built(each, tmp_path) for each in made]) as server,
    ):
        client = http.InferenceServerClient(server.http_url)
        answers = [infer(client, name, {"X": np.zeros(2, np.float32)})["Y"].tolist() for name in ("one", "two")]
        client.close()
    assert answers == [[3.0, 10.0]] * 2


def test_several_pythons_are_refused_before_a_server_starts(tmp_path: Path) -> None:
    made = [built(tmp_path, "one", "3.10"), built(tmp_path, "two", "3.12")]
    words = "one server runs one Python, but one for Python 3.10, two for Python 3.12"
    with click.Context(click.Command("serve"), obj=tmp_path), pytest.raises(EnsembleError, match=words):
        server_for([of_built(each, tmp_path) for each in made])


def test_a_missing_source_is_known_before_anything_is_built(tmp_path: Path) -> None:
    """Otherwise it is known after hours of work for the ensembles before it."""
    for name in ("early", "late", "plain"):
        write_ensemble(tmp_path, name)
    recipe = copy_recipe("double/1/weights.bin", place='url = "http://127.0.0.1:9/"')  # where no server is
    (tmp_path / "ensembles" / "late" / "ensemble.toml").write_text(recipe)
    result = run_in(tmp_path, "build", "--weights", "pretrained")
    assert result.exit_code == 1
    asked = result.output.index("mine: looking for model.onnx")
    refused = result.output.index("ensemble.toml:4: the source file mine/model.onnx could not be downloaded")
    assert asked < refused < result.output.index("early.tar.gz") < result.output.index("plain.tar.gz")
    assert result.output.count("looking for model.onnx") == 1
    assert result.stderr.strip().splitlines()[-2] == "error: 1 of 3 ensembles could not be built:"
