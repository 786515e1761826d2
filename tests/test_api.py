"""The functions for import refuse wrong arguments as the command line does: with an error and its cure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.files import write_files
from tests.hosting.archives import CALL, ensemble, model
from triton_ensembles import EnsembleError, build, check, clone, diff, graph, measure, read_recipe


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check([]), "there is nothing to check"),
        (lambda: check("nothing"), "nothing: there is no such file or folder"),
        (lambda: check(f"ensembles/{NAME}", target="tpu"), "there is no target 'tpu'; write 'cpu', 'fused' or 'gpu'"),
        (lambda: check(f"ensembles/{NAME}", image="99.99"), "'99.99'"),
        (lambda: build("ensembles"), "name the folder of an ensemble: ensembles/NAME"),
        (lambda: build("elsewhere"), "elsewhere: this folder does not lie in a folder ensembles/"),
        (lambda: build(f"ensembles/{NAME}", target="tpu"), "there is no target 'tpu'"),
        (lambda: build(f"ensembles/{NAME}", target="gpu"), "--target gpu needs an image"),
        (lambda: measure(f"ensembles/{NAME}", target="gpu"), "--target gpu needs an image"),
        (lambda: diff(f"ensembles/{NAME}", "cpu", "tpu"), "there is no target 'tpu'"),
        (lambda: graph("ensembles/nothing"), "ensembles/nothing: there is no such file or folder"),
        (lambda: clone("ensemble.toml", ["a"]), "this is not a gzip file"),
        (lambda: read_recipe("nothing"), "nothing/ensemble.toml: this file cannot be read: No such file"),
    ],
)
def test_a_wrong_argument_is_an_error_with_its_cure(
    call: Callable[[], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise `target="tpu"` builds for the CPU, and nobody notices."""
    write_chain(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for folder in (tmp_path, tmp_path / "elsewhere"):
        (folder / "ensemble.toml").write_text('description = "d"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnsembleError) as caught:
        call()
    assert words in str(caught.value)


def test_an_archive_is_checked_and_built_for_the_mode_that_it_is_for(tmp_path: Path) -> None:
    """Otherwise what only a single-model endpoint takes cannot be built from a script."""
    files = ensemble("ensemble", "first", "second") | model("first") | model("second", execute=CALL) | model("helper")
    folder = write_files(tmp_path / "ensembles" / NAME, files | {"ensemble.toml": 'description = "d"\n'})
    assert [fault.rule for fault in check(folder).faults if fault.severity == "error"] == ["sagemaker-bls"]
    assert not check(folder, single=True).errors
    with pytest.raises(EnsembleError, match="sagemaker-bls"):
        build(folder)
    built = build(folder, single=True)
    assert check(built.archive).errors and not check(built.archive, single=True).errors
    assert (built.repository / "helper" / "config.pbtxt").is_file(), "it is called by this name"
    assert (built.repository / f"{NAME}.second" / "config.pbtxt").is_file()


def test_an_ensemble_behind_a_link_keeps_its_name(tmp_path: Path) -> None:
    write_chain(tmp_path / "shared")
    (tmp_path / "mine" / "ensembles").mkdir(parents=True)
    (tmp_path / "mine" / "ensembles" / "renamed").symlink_to(tmp_path / "shared" / "ensembles" / NAME)
    built = build(tmp_path / "mine" / "ensembles" / "renamed")
    assert built.archive == tmp_path / "mine" / "dist" / "cpu" / "renamed.tar.gz"
    assert not check(built.archive).failed
