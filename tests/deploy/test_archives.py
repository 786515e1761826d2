"""Which archives may be served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.conftest import MakeArchive
from triton_ensembles.building.build import Built
from triton_ensembles.deploy.archives import find_archives, read_archive, refuse_faulty, refuse_random
from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.destination import Destination


def test_random_weights_are_refused_unless_it_is_said(make_archive: MakeArchive) -> None:
    """A user would otherwise pay for an endpoint whose answers mean nothing, and believe them."""
    archives = [make_archive("good"), make_archive("bad", weights="random"), make_archive("other", weights="")]
    with pytest.raises(EnsembleError, match="mean nothing: bad") as caught:
        refuse_random(archives, allowed=False)
    assert "--allow-random" in str(caught.value)
    assert refuse_random(archives, allowed=True) == ["bad"]
    assert refuse_random([archives[0], archives[2]], allowed=False) == []


def test_what_check_finds_is_refused_with_all_its_errors(make_archive: MakeArchive) -> None:
    broken = make_archive("broken", config='name: "broken"\nbackend: "pithon"\nmax_batch_size: -1\n')
    with pytest.raises(EnsembleError, match="check refuses these archives") as caught:
        refuse_faulty([broken], Destination())
    assert "backend-misspelt" in str(caught.value)
    assert "max-batch-size" in str(caught.value)


def test_check_looks_at_the_chosen_image_and_instance(built: dict[str, Built]) -> None:
    """bert_trt's environment has Python 3.11; the stub in AWS's 24.09 image is for 3.10, so it would never start."""
    archive = read_archive(built["bert_trt"].archive)
    refuse_faulty([archive], Destination("cpu", "ml.c5.xlarge"))
    with pytest.raises(EnsembleError, match=r"environment-python.*3\.11"):
        refuse_faulty([archive], Destination("cpu", "ml.c5.xlarge", "sagemaker-tritonserver:24.09-py3-cpu"))


def test_the_manifest_of_a_build_is_read(built: dict[str, Built]) -> None:
    for each in built.values():
        archive = read_archive(each.archive)
        assert archive.weights == each.manifest["weights"]
        assert archive.sha256 == each.sha256
        assert archive.key == f"{each.name}-{each.sha256[:12]}.tar.gz"


def test_another_content_is_another_key(make_archive: MakeArchive) -> None:
    """SageMaker goes on serving the old archive when the object under its key changes."""
    assert make_archive("echo").key != make_archive("echo", note="\n# changed\n").key


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08\x00 cut off"])
def test_a_file_that_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.tar.gz"
    path.write_bytes(content)
    with pytest.raises(EnsembleError, match=r"broken\.tar\.gz"):
        read_archive(path)


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match="make build-ensembles"):
        find_archives(tmp_path)
