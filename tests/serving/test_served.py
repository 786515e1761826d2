"""What a path stands for: a repository, one model, an archive; served by the real server."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import pack, write_chain, write_step
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.serving.served import refuse_shared_names, served

CHAIN = ("double", "six", "triple")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chain(tmp_path_factory.mktemp("chain") / "models")


@pytest.mark.parametrize(
    ("make", "models", "tops"),
    [
        (lambda chain, _: chain, CHAIN, ("six",)),
        (lambda chain, _: Path(os.path.relpath(chain)), CHAIN, ("six",)),
        (lambda chain, _: chain / "double", ("double",), ("double",)),
        (lambda chain, _: chain / "six", CHAIN, ("six",)),
        (lambda chain, at: pack(chain, at / "all.tar.gz"), CHAIN, ("six",)),
        (lambda chain, at: pack(chain, at / "named.tgz", *CHAIN), CHAIN, ("six",)),
        (lambda chain, at: pack(chain, at / "alone.tar.gz", "double"), ("double",), ("double",)),
        (lambda chain, at: pack(chain / "double", at / "flat.tar.gz"), ("flat",), ("flat",)),
    ],
)  # fmt: skip
def test_a_path_is_a_repository_a_model_or_an_archive(
    make: Callable[[Path, Path], Path], models: tuple[str, ...], tops: tuple[str, ...], chain: Path, tmp_path: Path
) -> None:
    found = served(make(chain, tmp_path), tmp_path)
    assert (found.models, found.tops) == (models, tops)
    assert all((found.repository / model / "1").is_dir() for model in models)


def test_an_archive_that_sagemaker_would_not_unpack_is_refused_with_the_words_of_check(
    chain: Path, tmp_path: Path
) -> None:
    wrapped = pack(chain.parent, tmp_path / "wrapped.tar.gz", "models")
    with pytest.raises(EnsembleError, match=r"(?s)sagemaker-no-model.*fix: pack what is in the folder"):
        served(wrapped, tmp_path)
    with pytest.raises(EnsembleError, match=r"(?s)archive-unreadable.*not a gzip file"):
        served(pack(chain, tmp_path / "plain.tar"), tmp_path)


def test_two_repositories_with_a_model_of_one_name_are_refused(chain: Path, tmp_path: Path) -> None:
    write_step(tmp_path / "other", "triple")
    both = [served(chain, tmp_path), served(tmp_path / "other", tmp_path)]
    with pytest.raises(EnsembleError, match="both have a model 'triple'"):
        refuse_shared_names(both)


def test_a_folder_with_one_repository_in_it_stands_for_that_one(tmp_path: Path) -> None:
    """As check and a fused build take it."""
    write_chain(tmp_path / "deploy" / "model_repository")
    source = served(tmp_path / "deploy", tmp_path)
    assert (source.name, source.repository) == ("deploy", tmp_path / "deploy" / "model_repository")


def test_a_folder_without_models_and_one_of_several_repositories_are_refused(chain: Path, tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match="no model here"):
        served(tmp_path, tmp_path)
    pack(chain, tmp_path / "a.tar.gz")
    pack(chain, tmp_path / "b.tar.gz")
    with pytest.raises(EnsembleError, match=r"several here: .*a\.tar\.gz.*name those"):
        served(tmp_path, tmp_path)


def test_an_ensemble_whose_version_folder_git_dropped_is_served_and_packed(tmp_path: Path) -> None:
    models = write_chain(tmp_path / "models")
    (models / "six" / "1").rmdir()
    for path in (models, models / "six"):
        found = served(path, tmp_path)
        assert (found.repository / "six" / "1").is_dir() and dict(found.files())["six/1"].is_dir()
    assert not (models / "six" / "1").exists()
