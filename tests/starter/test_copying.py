"""Copies of what is imported: no links, no loops, no devices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checking.packing import write_folder
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.starter.copying import Copied, copy_tree


def test_what_links_lead_to_is_copied(tmp_path: Path) -> None:
    write_folder(tmp_path, {"store/blob": "weights", "store/inner/labels.txt": "cat", "model/1/__pycache__": None})
    model = tmp_path / "model"
    (model / "1" / "model.onnx").symlink_to("../../store/blob")
    (model / "1" / "more").symlink_to("../../store/inner")
    (model / "1" / "gone.bin").symlink_to("nowhere")
    os.mkfifo(model / "1" / "pipe")
    copied = Copied()
    copy_tree(model, tmp_path / "copy", copied)
    files = sorted(path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*"))
    assert files == ["1", "1/model.onnx", "1/more", "1/more/labels.txt"]
    assert not any(path.is_symlink() for path in (tmp_path / "copy").rglob("*"))
    (tmp_path / "store" / "blob").write_text("other")
    assert (tmp_path / "copy" / "1" / "model.onnx").read_text() == "weights"
    assert [path.name for path in copied.links] == ["model.onnx", "more"]
    assert [path.name for path in (*copied.dead, *copied.others)] == ["gone.bin", "pipe"]


def test_a_link_to_a_folder_around_it_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "1").mkdir(parents=True)
    (model / "1" / "self").symlink_to("..")
    with pytest.raises(EnsembleError, match="this link leads to a folder that it lies in"):
        copy_tree(model, tmp_path / "copy", Copied())
