"""The functions for import refuse wrong arguments as the command line does: with an error and its cure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
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
        (lambda: graph("ensembles/nothing"), "there is no path 'ensembles/nothing'"),
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


def test_an_ensemble_behind_a_link_keeps_its_name(tmp_path: Path) -> None:
    write_chain(tmp_path / "shared")
    (tmp_path / "mine" / "ensembles").mkdir(parents=True)
    (tmp_path / "mine" / "ensembles" / "renamed").symlink_to(tmp_path / "shared" / "ensembles" / NAME)
    built = build(tmp_path / "mine" / "ensembles" / "renamed")
    assert built.archive == tmp_path / "mine" / "dist" / "cpu" / "renamed.tar.gz"
    assert not check(built.archive).failed
