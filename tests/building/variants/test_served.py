"""Variants on the real server, beside each other and beside their original: as drawn, and fused."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from examples.digit_variants import SHARE
from pipelines.train_digits import digits as all_digits
from pipelines.train_digits import inks, train
from tests.building.variants.conftest import Variants
from tests.ensembles import clients
from tests.ensembles.test_digits import STYLES, drawn, infer
from tests.running import client_of
from triton_ensembles.building.built import Built
from triton_ensembles.server.triton_server import TritonServer


def unpacked(variants: Variants) -> list[Path]:
    folders = []
    for name in sorted(variants.archives()):
        folders.append(variants.folder / "unpacked" / name)
        shutil.unpack_archive(variants.output / f"{name}.tar.gz", folders[-1], filter="data")
    return folders


def test_each_variant_answers_with_the_scores_of_its_own_network(
    variants: Variants, networks: Callable[[int], bytes], digits: Built
) -> None:
    """Otherwise a tenant would get the answers of another one, which look just as good."""
    for seed in (5, 6):
        variants.add(f"tenant-{seed}", networks(seed))
    assert variants.clone().exit_code == 0
    chosen = slice(0, 1797, 60)
    pictures = [drawn(each, STYLES[0]) for each in all_digits()[0][chosen]]
    repositories = [digits.repository, *unpacked(variants)]
    with client_of(TritonServer(repositories, log=variants.folder / "log")) as client:
        found = {f"tenant-{seed}": infer(client, pictures, f"tenant-{seed}")["SCORES"] for seed in (5, 6)}
        found["digits"] = infer(client, pictures)["SCORES"]
    for seed in (5, 6):
        expected = train(seed, SHARE).predict_proba(inks()[chosen])
        nearest = min(found, key=lambda name: float(np.abs(found[name] - expected).max()))
        assert nearest == f"tenant-{seed}"
        np.testing.assert_allclose(found[nearest], expected, atol=1e-5)


@pytest.mark.slow
def test_a_fused_variant_has_files_and_parameters_of_its_own(fused_chain: Built, tmp_path: Path) -> None:
    """The fused ensemble refuses files that are not those of its plan, so the plan is the variant's own."""
    variants = Variants(fused_chain.archive, tmp_path)
    code = (fused_chain.archive.parents[2] / "ensembles" / "chain" / "second" / "1" / "model.py").read_text()
    reads = code.replace(
        "    def execute", "    def initialize(self, args):\n        self.args = args\n\n    def execute"
    )
    variants.add("plus_ten", reads.replace("x + 1)", "x + 10)").encode(), inner="second/1/model.py", more=",")
    added = 'x + float(__import__("json").loads(self.args["model_config"])["parameters"]["add"]["string_value"]))'
    variants.add("plus_five", reads.replace("x + 1)", added).encode(), inner="second/1/model.py", more=",5")
    assert variants.clone(header="name,files,second.add").exit_code == 0
    with client_of(TritonServer([fused_chain.repository, *unpacked(variants)], log=tmp_path / "log")) as client:
        given = {"X": np.zeros((1, 3), np.float32)}
        answers = {name: clients.infer(client, name, given)["Y"].tolist() for name in ("chain", *variants.archives())}
    assert answers == {"chain": [[2] * 3], "plus_ten": [[11] * 3], "plus_five": [[6] * 3]}
