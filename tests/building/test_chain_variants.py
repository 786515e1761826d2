"""What engineers have in the folder of a step, besides model.py, is in the archive as it lies there."""

from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.files import packed_files
from tests.places import built_by
from triton_ensembles.building.build import Built, last_built
from triton_ensembles.building.places import Places
from triton_ensembles.building.prune import find_unneeded
from triton_ensembles.checking.checker import check
from triton_ensembles.triton.targets import CPU, Target, fused


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    write_chain(tmp_path)
    return tmp_path / "ensembles" / NAME


def make(chain: Path, target: Target = CPU) -> Built:
    return built_by(Places.of(chain.parents[1]), NAME, target)


def members(built: Built) -> set[str]:
    return {name.partition("/")[2] for name in packed_files(built.archive)}


def test_a_python_step_keeps_the_model_file_that_it_reads_itself(chain: Path) -> None:
    """Otherwise a step that runs its own session is turned into a model of another backend, or loses the file."""
    recipe = 'description = "x"\n'
    for path in ("first/1/model.onnx", "first/1/labels.txt"):
        recipe += f'[[artifacts]]\npath = "{path}"\nmaker = "numbered_labels"\noptions = {{ count = 3 }}\n'
    (chain / "ensemble.toml").write_text(recipe)
    assert not check([chain]).errors
    built = make(chain)
    assert {"1/model.py", "1/model.onnx", "1/labels.txt"} <= members(built)
    assert 'backend: "python"' in (built.repository / f"{NAME}.first" / "config.pbtxt").read_text()


def test_packages_called_examples_and_empty_folders_stay(chain: Path) -> None:
    """Only the requests beside the config of the ensemble are left out: a step may import its examples/."""
    for folder in ("examples", "cache"):
        (chain / "first" / "1" / folder).mkdir()
    (chain / "first" / "1" / "examples" / "__init__.py").write_text("COUNT = 1\n")
    step = chain / "first" / "1" / "model.py"
    step.write_text(f"import examples\n\nassert examples.COUNT\n{step.read_text()}")
    found = members(make(chain))
    assert {"1/examples/__init__.py", "1/cache"} <= found
    assert not [name for name in found if "one_row" in name]
    (chain / "first" / "1" / "cache").rmdir()
    assert "1/cache" not in members(make(chain))


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"archive": 1}'])
def test_a_damaged_record_of_a_build_is_none(chain: Path, record: str) -> None:
    """Otherwise every command ends in a traceback until someone finds the file."""
    built, places = make(chain), Places.of(chain.parents[1])
    places.state(CPU.name, NAME).write_text(record)
    assert last_built(NAME, CPU.name, places) is None
    assert find_unneeded(places) == []
    assert make(chain).sha256 == built.sha256
    (built.repository / "manifest.json").write_text(record)
    assert last_built(NAME, CPU.name, places) is None


@pytest.mark.slow
def test_a_fused_ensemble_also_leaves_the_requests_out(chain: Path) -> None:
    (chain / "first" / "examples").mkdir()
    (chain / "first" / "examples" / "x.json").write_text("{}")
    requests = {name for name in members(make(chain, fused())) if name.endswith(("one_row.json", "examples/x.json"))}
    assert requests == {"1/steps/first/examples/x.json"}
