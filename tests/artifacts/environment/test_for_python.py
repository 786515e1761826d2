"""One environment file is packed for exactly the Python of the image that will run it."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checkout import ENSEMBLES
from tests.environment_files import WriteFile
from tests.pythons import python_or_skip
from triton_ensembles.artifacts.environment import make_packed_environment
from triton_ensembles.building.made.environments import make_environments
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.targets import gpu

from .conftest import FROM_PYPI

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pinned", ["python=3.11", "python==3.11", "python", None])
def test_only_the_python_changes(environment_file: WriteFile, pinned: str | None) -> None:
    """Otherwise py-rattler (the specs) and pip (the interpreter) install different Pythons."""
    others = ["numpy==1.26.4", "python-dateutil=2.9"]
    spec = environment_file("dependencies:\n" + "".join(f"  - {line}\n" for line in [pinned, *others] if line))
    changed = spec.for_python("3.10", exactly=True)
    assert (changed.python, changed.conda_specs) == ("3.10", ("python=3.10", *others))
    assert changed.packages == spec.packages


@pytest.fixture(scope="module", params=["3.10", "3.12"])
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    minor = request.param
    python_or_skip(minor)
    folder = tmp_path_factory.mktemp("packed")
    spec = FROM_PYPI.for_python(minor, exactly=True)
    assert make_packed_environment(spec, destination=folder / "env")["python"] == minor
    return folder / "env"


@pytest.mark.parametrize("release", ["up to 25.07", "from 25.08"])
def test_it_starts_as_every_release_of_triton_starts_it(packed: Path, release: str, tmp_path: Path) -> None:
    """Up to 25.07 a shell runs bin/activate; since 25.08 it must only be there, and Triton sets the variables itself
    (python_backend #404): VIRTUAL_ENV, PATH, LD_LIBRARY_PATH, and no PYTHONHOME."""
    script = tmp_path / "script.py"
    script.write_text("import sys, numpy, tokenizers; print('%d.%d' % sys.version_info[:2], sys.prefix)")
    if release == "up to 25.07":
        start = f"source {packed}/bin/activate && exec env LD_LIBRARY_PATH={packed}/lib python3 {script}"
        command, environment = ["bash", "-c", start], {"PATH": "/usr/bin:/bin"}
    else:
        assert (packed / "bin" / "activate").is_file()
        command = [str(packed / "bin" / "python3"), str(script)]
        environment = {"PATH": f"{packed}/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": f"{packed}/lib"}
        environment["VIRTUAL_ENV"] = str(packed)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    minor, prefix = done.stdout.split()
    assert prefix == str(packed)
    assert (packed / "lib" / f"libpython{minor}.so.1.0").is_file()


def test_an_environment_that_needs_a_newer_glibc_than_the_image_has_is_refused(places: Places) -> None:
    """Otherwise a Python built on this machine does not start in an older image."""
    python_or_skip("3.10")
    target = gpu("24.10")
    assert target.release.glibc == (2, 35)
    plan = plan_build(ENSEMBLES / "bert_trt", target)
    old = replace(target, release=replace(target.release, ubuntu="20.04"))  # glibc 2.31
    with pytest.raises(EnsembleError, match=r"needs glibc 2\.3\d, and .* \(Ubuntu 20\.04\) has 2\.31"):
        make_environments(replace(plan, target=old), Store(places.store), print)
