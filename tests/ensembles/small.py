"""The ensembles that do not lead, in a project of their own with small stand-ins: the same tensors, fewer layers.

CI would wait minutes for the full ones. What is built and downloaded is kept in the build folder of this project.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from checkout import ENSEMBLES, ROOT
from triton_ensembles.building.places import Places

RESNET, YOLO, BERT = "resnet", "yolov5", "bert_base"
NAMES = (RESNET, YOLO, BERT)
RESNET_SEEDS = {1: 2015, 2: 2021}
YOLO_OPTIONS = {"seed": 2021, "width": 25}
BERT_OPTIONS = {"seed": 2018, "layers": 1}
BLOCKS = (1, 1, 1, 1)
_SMALLER = {
    RESNET: [
        (f"{{ seed = {seed} }}", f'{{ seed = {seed}, blocks = ["1", "1", "1", "1"] }}')
        for seed in RESNET_SEEDS.values()
    ],
    YOLO: [("{ seed = 2021 }", "{ seed = 2021, width = 25 }")],
    BERT: [("{ seed = 2018 }", "{ seed = 2018, layers = 1 }")],
}


def small_project(folder: Path, places: Places) -> Places:
    """The places of a project in ``folder`` with copies of the three ensembles."""
    made = Places.of(folder)
    for name in ("pipelines", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    for name in NAMES:
        shutil.copytree(ENSEMBLES / name, made.ensembles / name)
        recipe = made.ensembles / name / "ensemble.toml"
        text = recipe.read_text()
        for full, small in _SMALLER[name]:
            assert text.count(full) == 1
            text = text.replace(full, small)
        # Without an address that answers, weights are random on every machine.
        recipe.write_text(text.replace("https://", "https://nowhere.invalid/").replace('hub = "', 'hub = "nobody/'))
    made.build.mkdir()
    for name in ("store", "downloads"):
        kept = places.build / ("small-downloads" if name == "downloads" else name)
        kept.mkdir(parents=True, exist_ok=True)
        (made.build / name).symlink_to(kept.resolve())
    return made
