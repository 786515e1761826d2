"""pipelines/dali_pipe.py on its own: no Triton."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from pipelines import dali_pipe
from tests.ensembles.clients import PHOTOGRAPHS, SHOTS, saved
from tests.running import outcome

SCRIPT = Path(dali_pipe.__file__)


def run(*arguments: str, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    return outcome(sys.executable, script, *arguments)


@pytest.mark.parametrize("name", SHOTS)
def test_agrees_with_pillow(name: str) -> None:
    """Otherwise the network would see another picture than Pillow users see, or photographs lying on their side.

    Both decode with libjpeg-turbo and resize with a triangular filter that widens when it shrinks. They round
    differently: measured on these photographs 0.001 on average and 0.063 (8 of 255 steps) at the most, on [-1, 1].
    """
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(SHOTS[name])))
    resized = upright.resize((299, 299), Image.Resampling.BILINEAR)
    found = dali_pipe.preprocess(SHOTS[name])
    assert (found.shape, found.dtype) == ((299, 299, 3), np.float32)
    difference = np.abs(found - (np.asarray(resized, np.float32) / 127.5 - 1))
    assert difference.mean() < 0.002
    assert difference.max() < 0.08


def test_same_bytes_from_another_process_in_another_folder(tmp_path: Path) -> None:
    """Otherwise every checkout would build another archive from the same sources."""
    copy = tmp_path / "elsewhere" / "dali_pipe.py"
    copy.parent.mkdir()
    shutil.copy(SCRIPT, copy)
    for device in ("cpu", "mixed"):  # "mixed" is written without a GPU
        for name, script in (("a", SCRIPT), ("b", copy)):
            done = run(str(tmp_path / name), "--device", device, script=script)
            assert done.returncode == 0, done.stderr
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert b"dali_pipe.py" not in (tmp_path / "a").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "elsewhere"]
    assert len({dali_pipe.serialize("cpu"), dali_pipe.serialize("mixed")}) == 2


def test_command_line() -> None:
    """Otherwise the examples of its help would not work."""
    assert run("--show", str(PHOTOGRAPHS[0])).stdout.startswith("float32 [299, 299, 3], from -1.000 to +1.000")
    assert "DALI_INPUT_0" in run("--help").stdout
    assert run().returncode == 2


@pytest.mark.parametrize(("graph", "shorter"), [("imagenet_256", 256), ("imagenet_232", 232)])
def test_imagenets_preprocessing_is_that_of_torchvision(graph: str, shorter: int) -> None:
    """Resize(shorter), CenterCrop(224), ToTensor and Normalize, by Pillow."""
    picture = Image.open(io.BytesIO(SHOTS["china"]))
    scale = shorter / min(picture.size)
    resized = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BILINEAR)
    left, top = round((resized.width - 224) / 2), round((resized.height - 224) / 2)
    pixels = np.asarray(resized.crop((left, top, left + 224, top + 224)), np.float32) / 255
    expected = ((pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).transpose(2, 0, 1)
    difference = np.abs(dali_pipe.preprocess(SHOTS["china"], graph=graph) - expected)
    assert difference.mean() < 0.02  # of a deviation; both round pixels to whole numbers
    assert np.percentile(difference, 99) < 0.15


@pytest.mark.parametrize("size", [(640, 427), (97, 61), (30, 900), (2000, 40)])
def test_the_letterbox_is_bilinear_and_grey(size: tuple[int, int]) -> None:
    """Otherwise a detector sees other pixels than it was trained with, or boxes land beside their objects."""
    import torch
    from torch.nn.functional import interpolate

    picture = Image.open(PHOTOGRAPHS[1]).resize(size)
    pipeline = dali_pipe.make_pipeline("cpu", "letterbox", batch_size=1, num_threads=1)
    pipeline.build()
    pipeline.feed_input(dali_pipe.INPUT, [np.frombuffer(saved(picture, "PNG"), np.uint8)])
    pixels, sizes = (output.as_array()[0] for output in pipeline.run())
    width, height = (round(side * 640 / max(size)) for side in size)
    assert sizes.tolist() == [[size[1], size[0], 3], [height, width, 3]]
    given = torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None].float()
    expected = interpolate(given, (height, width), mode="bilinear", align_corners=False)[0].numpy()
    difference = np.abs(pixels[:, :height, :width] - expected)
    assert difference.mean() < 2  # of 255; the shorter side is rounded, and they divide the rest differently
    assert (pixels[:, height:] == 114).all() and (pixels[:, :, width:] == 114).all()
