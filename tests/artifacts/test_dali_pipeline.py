"""The serialized pipeline is written by the DALI of the image, whatever DALI is installed here."""

import ctypes
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from checkout import BUILD, ROOT
from pipelines import dali_pipe
from triton_ensembles.artifacts import Job, dali_pipeline
from triton_ensembles.artifacts.accuracy_on_photographs import encoded_views
from triton_ensembles.artifacts.dali_pipeline import dali_folder, full_version, package_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.releases import releases

pytestmark = pytest.mark.slow

# As Triton's dali backend does: read the file, give it a batch, take its pixels. With the DALI of the folder only.
READER = """
import json, sys
import numpy as np
import nvidia.dali
from nvidia.dali import Pipeline

file, images, pixels = sys.argv[1:]
one_by_one = {"prefetch_queue_depth": 1, "exec_pipelined": False, "exec_async": False}
pipeline = Pipeline.deserialize(filename=file, batch_size=1, num_threads=1, **one_by_one)
found = []
for image in np.load(images).values() if pixels else ():
    if not found:
        pipeline.build()
    pipeline.feed_input("DALI_INPUT_0", [image])
    found.append(np.array(pipeline.run()[0].as_array()[0]))
if pixels:
    np.save(pixels, found)
print(json.dumps({"version": nvidia.dali.__version__, "file": nvidia.dali.__file__}))
"""


def make(output: Path, device: str, dali_version: str) -> dict[str, str | int | float]:
    options: dict[str, str | int] = {"pipeline": "pipelines/dali_pipe.py"}
    return dali_pipeline.make(Job(output, {}, None, options, device, dali_version))


def read(file: Path, folder: Path, images: Path | str = "", pixels: Path | str = "") -> dict[str, str]:
    """Read the pipeline with the DALI in ``folder``, and run it if ``pixels`` names a file for its output."""
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", READER, file, images, pixels],
        env=os.environ | {"PYTHONPATH": os.fspath(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


# Of Triton 24.03 and of 26.02.
@pytest.fixture(scope="module", params=["1.31", "1.53.0"])
def other(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """Another version of DALI and its folder; build/tools keeps it, and pip installs it only once."""
    if request.param == "1.31" and sys.version_info >= (3, 12):
        pytest.skip("DALI 1.31 has no wheel for this Python")
    try:
        return request.param, dali_folder(request.param, BUILD / "tools")
    except EnsembleError as error:
        if "cannot be reached" not in error.message:
            raise
        pytest.skip(str(error))


def test_written_and_read_by_the_dali_of_the_image(other: tuple[str, Path], tmp_path: Path) -> None:
    """Otherwise the archive's first step would not load in its image, or the network would get different pixels."""
    wanted, folder = other
    assert make(tmp_path / "model.dali", "cpu", wanted) == {"device": "cpu", "dali": full_version(wanted)}
    make(tmp_path / "again.dali", "cpu", wanted)
    written = (tmp_path / "model.dali").read_bytes()
    assert written == (tmp_path / "again.dali").read_bytes() and b"dali_pipe.py" not in written
    views = encoded_views()[:3]
    np.savez(tmp_path / "images.npz", *(np.frombuffer(view, np.uint8) for view in views))
    answer = read(tmp_path / "model.dali", folder, tmp_path / "images.npz", tmp_path / "pixels.npy")
    assert answer["version"] == full_version(wanted)
    assert Path(answer["file"]).is_relative_to(folder)
    here = np.stack([dali_pipe.preprocess(view) for view in views])
    # The triangular filter rounds to whole steps of uint8, one of which is 1 / 127.5 after normalization.
    np.testing.assert_allclose(np.load(tmp_path / "pixels.npy"), here, atol=1 / 127.5 + 1e-4)


def test_decoding_on_the_gpu_is_written_without_one_or_refused_with_a_reason(
    other: tuple[str, Path], tmp_path: Path
) -> None:
    """Otherwise a build machine without a GPU would end in DALI's stack trace, or in a pipeline for the CPU."""
    wanted, folder = other
    try:
        facts = make(tmp_path / "model.dali", "mixed", wanted)
    except EnsembleError as error:
        assert "only on a machine with a GPU" in error.message
        assert not has_gpu()
        assert wanted != "1.53.0"
        return
    assert facts == {"device": "mixed", "dali": full_version(wanted)}
    assert b"mixed" in (tmp_path / "model.dali").read_bytes()
    if has_gpu():  # reading one builds it, too
        assert read(tmp_path / "model.dali", folder)["version"] == full_version(wanted)


def has_gpu() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("given", ["", version("nvidia-dali-cuda130")])
def test_the_installed_dali_is_used_if_it_is_the_images(given: str, tmp_path: Path) -> None:
    """Otherwise every build for the cpu target would download a DALI that is already installed."""
    facts = make(tmp_path / "model.dali", "cpu", given)
    assert facts == {"device": "cpu", "dali": version("nvidia-dali-cuda130")}
    assert (tmp_path / "model.dali").read_bytes() == dali_pipe.serialize("cpu")


def test_versions_of_the_image_table_become_those_of_packages() -> None:
    """Otherwise pip would look for versions that do not exist."""
    table = {release: full_version(row.dali) for release, row in releases().items() if row.dali}
    assert (table["24.04"], table["24.06"], table["24.09"], table["26.05"]) == ("1.36.0", "1.37.1", "1.39.0", "2.1.0")
    assert all(one.count(".") == 2 for one in table.values())
    assert {package_of(one) for release, one in table.items() if release >= "23.03"} == {"nvidia-dali-cuda120"}
    assert package_of(table["23.02"]) == "nvidia-dali-cuda110"


def test_a_dali_that_pip_cannot_install_is_reported_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise people would read a page of pip's output, and the next build would use a half-filled folder."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.fspath(tmp_path))
    with pytest.raises(EnsembleError) as caught:
        dali_folder("1.39.0", tmp_path / "tools")
    assert "must be serialized with the image's DALI 1.39.0" in caught.value.message
    assert "nvidia-dali-cuda120==1.39.0" in caught.value.message
    assert "PIP_FIND_LINKS" in caught.value.cure
    assert [path.name for path in (tmp_path / "tools").iterdir()] == ["nvidia-dali-cuda120-1.39.0.lock"]
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(EnsembleError, match="pip's index cannot be reached"):
        dali_folder("1.31", tmp_path / "tools")


def test_a_script_that_fails_with_the_images_dali_is_named(other: tuple[str, Path], tmp_path: Path) -> None:
    """Otherwise nobody would know that the pipeline uses something that the image does not have."""
    script = tmp_path / "pipe.py"
    script.write_text("from nvidia.dali import fn\nfn.no_such_operator()\n")
    options: dict[str, str | int] = {"pipeline": os.path.relpath(script, ROOT)}
    with pytest.raises(EnsembleError, match=f"this script fails with DALI {full_version(other[0])}: AttributeError"):
        dali_pipeline.make(Job(tmp_path / "model.dali", {}, None, options, "cpu", other[0]))
