"""`serve` and `demo` serve what was built under the Python that its manifest names."""

import json
from pathlib import Path

import click
import numpy as np
import pytest
import tritonclient.http as http

from tests.endpoint.hosting import archives
from tests.ensembles.clients import infer
from tests.files import write_files
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.building.built import Built
from triton_ensembles.commands.common.builds import server_for
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.perf.sweep import Load, measure
from triton_ensembles.serving.served import of_built
from triton_ensembles.triton.interpreter import find_interpreter

ANSWER = "import sys; x = np.array(sys.version_info[:2], np.float32)"


def built(folder: Path, name: str, python: str) -> Built:
    manifest = {"weights": "pretrained", "python": python}
    write_files(folder / name, archives.model(name, execute=ANSWER))
    (folder / name / MANIFEST).write_text(json.dumps(manifest))
    return Built(name, folder / f"{name}.tar.gz", folder / name, "0" * 64, manifest, "", True)


@pytest.mark.parametrize("python", ["3.10", "3.12"])
def test_the_server_has_the_python_of_the_manifest(python: str, tmp_path: Path) -> None:
    if find_interpreter(python) is None:
        pytest.skip(f"there is no Python {python} with a shared library here")
    made = [built(tmp_path, "one", python), built(tmp_path, "two", "")]
    with (
        click.Context(click.Command("serve"), obj=tmp_path),
        server_for([of_built(each, tmp_path) for each in made]) as server,
    ):
        client = http.InferenceServerClient(server.http_url)
        answers = [infer(client, name, {"X": np.zeros(2, np.float32)})["Y"].tolist() for name in ("one", "two")]
        client.close()
    expected = [float(number) for number in python.split(".")]
    assert answers == [expected, expected]


def test_several_pythons_are_refused_before_a_server_starts(tmp_path: Path) -> None:
    made = [built(tmp_path, "one", "3.10"), built(tmp_path, "two", "3.12")]
    words = "one server runs one Python, but one for Python 3.10, two for Python 3.12"
    with click.Context(click.Command("serve"), obj=tmp_path), pytest.raises(EnsembleError, match=words):
        server_for([of_built(each, tmp_path) for each in made])
    with pytest.raises(EnsembleError, match=words):
        models = {each.name: (each.repository, tmp_path) for each in made}
        measure(models, Load(), output=tmp_path / "out", progress=print)
