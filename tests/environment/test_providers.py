"""Which provider is used, and what happens when it fails.

A machine with only pip has no conda program. The scripts here print what the real programs print; the tests are about
how the build reads that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.environment import make_packed_environment
from triton_ensembles.environment.conda import ProviderUnavailableError
from triton_ensembles.environment.pins import Pins
from triton_ensembles.environment.providers import PROVIDERS, install
from triton_ensembles.errors import EnsembleError

from .conftest import WriteFile


def put_on_path(folder: Path, name: str, output: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "output").write_text(output)
    program = folder / name
    program.write_text(f'#!/bin/sh\necho "$@" > "{folder}/arguments"\n/bin/cat "{folder}/output" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "arguments"


NO_NETWORK = {
    "conda": "Collecting package metadata: failed\n\nCondaHTTPError: HTTP 000 CONNECTION FAILED for url <x>\n",
    "mamba": "error    libmamba Could not resolve host: conda.example [Could not resolve hostname]\n",
    "micromamba": "critical libmamba Download error (7) Could not connect to server [x]\n",
}


@pytest.mark.parametrize("program", NO_NETWORK)
def test_after_a_program_without_network_the_next_provider_is_tried(
    program: str, environment_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = put_on_path(tmp_path / "bin", program, NO_NETWORK[program], monkeypatch)
    spec = environment_file("dependencies: ['idna==3.10']\n")
    with pytest.raises(ProviderUnavailableError, match=f"{program} cannot reach its channels"):
        PROVIDERS[program](spec, tmp_path / "prefix", lambda _: None, Pins())
    assert arguments.read_text().split()[-1] == str(tmp_path / "environment.yml")
    assert str(tmp_path / "prefix") in arguments.read_text()


def test_a_program_that_finds_no_solution_stops_the_build(
    environment_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(
        tmp_path / "bin",
        "micromamba",
        "error    libmamba Could not solve for environment specs\n    The following package could not be found\n",
        monkeypatch,
    )
    spec = environment_file("dependencies: ['idna==99']\n")
    with pytest.raises(EnsembleError, match=r"micromamba cannot make this environment.*Could not solve"):
        install(spec, tmp_path / "prefix", lambda _: None)


def test_a_missing_provider_that_was_asked_for_is_an_error(environment_file: WriteFile, tmp_path: Path) -> None:
    spec = environment_file("dependencies: ['idna==3.10']\n")
    with pytest.raises(EnsembleError, match="micromamba is not on PATH"):
        make_packed_environment(spec, destination=tmp_path / "e.tar.gz", provider="micromamba")
    with pytest.raises(EnsembleError, match="no provider 'poetry'"):
        make_packed_environment(spec, destination=tmp_path / "e.tar.gz", provider="poetry")
