"""The archives that may be deployed."""

from pathlib import Path

import pytest

from tests.deploy.conftest import MakeArchive
from triton_ensembles.building.built import Built
from triton_ensembles.deploy.archives import common_weights, find_archives, read_archive, refuse_faulty, refuse_random
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination


def test_random_weights_are_refused_unless_allowed(make_archive: MakeArchive) -> None:
    """Otherwise a user would pay for an endpoint whose answers mean nothing, and believe them."""
    archives = [make_archive("good"), make_archive("bad", weights="random"), make_archive("other", weights="")]
    with pytest.raises(EnsembleError, match="answers mean nothing: bad") as caught:
        refuse_random(archives, allowed=False)
    assert "--allow-random" in str(caught.value)
    assert refuse_random(archives, allowed=True) == ["bad"]
    assert refuse_random([archives[0], archives[2]], allowed=False) == []


def test_an_archive_with_faults_is_refused(make_archive: MakeArchive) -> None:
    """The error has all that check finds."""
    broken = make_archive("broken", config='name: "broken"\nbackend: "pithon"\nmax_batch_size: -1\n')
    with pytest.raises(EnsembleError, match="check refuses these archives") as caught:
        refuse_faulty([broken], Destination())
    assert "backend-misspelt" in str(caught.value)
    assert "max-batch-size" in str(caught.value)


def test_archives_are_checked_for_the_chosen_image_and_instance(built: dict[str, Built]) -> None:
    """bert_trt's environment has Python 3.11; the stub in AWS's 24.09 image is for 3.10, so it would never start."""
    archive = read_archive(built["bert_trt"].archive)
    refuse_faulty([archive], Destination("cpu", "ml.c5.xlarge"))
    with pytest.raises(EnsembleError, match=r"environment-python.*3\.11"):
        refuse_faulty([archive], Destination("cpu", "ml.c5.xlarge", "sagemaker-tritonserver:24.09-py3-cpu"))


def test_the_manifest_of_a_build_is_read(built: dict[str, Built]) -> None:
    """The archive's weights are known, and its key has a digest of its content."""
    for each in built.values():
        archive = read_archive(each.archive)
        assert archive.weights == each.manifest["weights"]
        assert archive.sha256 == each.sha256
        assert archive.key == f"{each.name}-{each.sha256[:12]}.tar.gz"


def test_other_content_has_another_key(make_archive: MakeArchive) -> None:
    """SageMaker continues to serve the old archive when the object under its key changes."""
    assert make_archive("echo").key != make_archive("echo", note="\n# changed\n").key


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08\x00 cut off"])
def test_a_file_that_is_not_an_archive_is_named(tmp_path: Path, content: bytes) -> None:
    """Otherwise a user would see a traceback."""
    path = tmp_path / "broken.tar.gz"
    path.write_bytes(content)
    with pytest.raises(EnsembleError, match=r"broken\.tar\.gz"):
        read_archive(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(EnsembleError, match="this is not an archive"):
        read_archive(path)


def test_only_archives_of_the_given_ensembles_are_found(tmp_path: Path, make_archive: MakeArchive) -> None:
    """What an ensemble that was deleted since has left in the folder is not even read."""
    with pytest.raises(EnsembleError, match=r"run: build\.py build"):
        find_archives(tmp_path, ["echo"])
    make_archive("echo")
    (tmp_path / "stale.tar.gz").write_bytes(b"not an archive")
    assert [each.name for each in find_archives(tmp_path, ["echo", "not-built"])] == ["echo"]


def test_the_weights_of_several_archives(make_archive: MakeArchive) -> None:
    """One archive with random weights is enough for a warning; archives of other tools say nothing."""
    pretrained, random, unknown = (make_archive(f"with-{each}", weights=each) for each in ("pretrained", "random", ""))
    assert common_weights([pretrained, pretrained]) == "pretrained"
    provided = make_archive("with-provided", weights="provided")
    assert common_weights([pretrained, provided]) == "provided"
    assert common_weights([provided, unknown]) == ""
    assert common_weights([provided, random]) == "random"
    assert common_weights([pretrained, unknown]) == ""
    assert common_weights([pretrained, unknown, random]) == "random"
