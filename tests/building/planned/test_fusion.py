"""Fusing: the one model's config, and the plan of its run."""

from pathlib import Path
from typing import Any

from tests.files import write_files
from triton_ensembles.building.planned.fusion import Fusion, fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.checking.examples import ensemble, io_tensor, python_model, step
from triton_ensembles.triton.targets import fused


def chain(folder: Path, extra: dict[str, str]) -> Fusion:
    """X -> a -> b -> c -> Z. ``extra`` is added to the configs of steps."""
    tensors = {"a": ("X", "t1"), "b": ("t1", "t2"), "c": ("t2", "Z")}
    steps = (step(name, {"X": taken}, {"Y": written}) for name, (taken, written) in tensors.items())
    config = ensemble(*steps, outputs=io_tensor("Z"))
    files = {"ensemble.toml": 'description = "A chain"\n', "ensemble/config.pbtxt": config}
    for name in tensors:
        output = io_tensor("Y", more='label_filename: "labels.txt"' if name == "c" else "")
        config = python_model(extra.get(name, ""), outputs=output)
        files |= {f"{name}/config.pbtxt": config, f"{name}/labels.txt": "cat\n", f"{name}/1/model.py": ""}
    return fuse(plan_build(write_files(folder, files), fused()))


def test_the_fused_model_batches_as_its_steps_do(tmp_path: Path) -> None:
    assert not chain(tmp_path / "none", {}).config.HasField("dynamic_batching")
    delays = {"a": "dynamic_batching { }", "b": "dynamic_batching { max_queue_delay_microseconds: 70 }"}
    assert chain(tmp_path / "two", delays).config.dynamic_batching.max_queue_delay_microseconds == 70


def test_the_fused_model_has_the_labels_of_its_steps_and_the_instances_of_the_one_with_the_most(tmp_path: Path) -> None:
    """Otherwise a client that requests classes gets none."""
    fusion = chain(tmp_path / "chain", {"b": "instance_group [ { count: 3 kind: KIND_CPU } ]"})
    assert [group.count for group in fusion.config.instance_group] == [3]
    groups: list[Any] = [step.config["instance_group"] for step in fusion.steps]
    assert {group["count"] for (group,) in groups} == {3}
    assert [output.label_filename for output in fusion.config.output] == ["1/steps/c/labels.txt"]


def test_a_version_that_the_dag_names_is_the_one_that_runs(tmp_path: Path) -> None:
    folder = tmp_path / "chain"
    chain(folder, {})
    (folder / "b" / "4").mkdir()
    (folder / "b" / "4" / "model.py").write_text("")
    assert [step.version for step in fuse(plan_build(folder, fused())).steps] == ["1", "4", "1"]
    config = folder / "ensemble" / "config.pbtxt"
    text, chosen = config.read_text(), '"b"\n      model_version: '
    config.write_text(text.replace(f"{chosen}-1", f"{chosen}1"))
    assert [step.version for step in fuse(plan_build(folder, fused())).steps] == ["1", "1", "1"]
