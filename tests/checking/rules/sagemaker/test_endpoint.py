"""Conflicts between several archives on one endpoint."""

from __future__ import annotations

from pathlib import Path

from tests.checking.packing import IO, environment, faults, folder, members, rules, write
from triton_ensembles.checking.examples import GRAPH_IDENTITY

ENV = "$$TRITON_MODEL_DIRECTORY/env.tar.gz"


def test_shared_steps_are_named_with_both_places(tmp_path: Path) -> None:
    """Otherwise loading one archive reloads the Python steps of another, and nobody knows why."""
    paths = [write(tmp_path / f"{name}.tar.gz", members("same")) for name in ("a", "b", "c")]
    (fault,) = faults(*paths)
    assert fault.rule == "endpoint-shared-step"
    assert fault.place.path.endswith("b.tar.gz!same.step")
    assert "a.tar.gz!same.step" in fault.message and "c.tar.gz!same.step" in fault.message


def test_the_name_of_the_ensemble_may_be_the_same(tmp_path: Path) -> None:
    """Otherwise archives cannot all call their ensemble 'ensemble', as AWS's examples do."""
    for name in ("x", "y"):
        files = {path.replace(f"{name}/", "ensemble/", 1): text for path, text in members(name).items()}
        write(tmp_path / f"{name}.tar.gz", files)
    assert not rules(*tmp_path.iterdir())


def test_one_name_in_two_folders(tmp_path: Path) -> None:
    """Otherwise the second upload replaces the first."""
    paths = write(tmp_path / "a" / "m.tar.gz", members("a")), write(tmp_path / "b" / "m.tar.gz", members("b"))
    assert rules(*paths) == {"endpoint-same-target-model"}
    assert rules(paths[0], paths[0]) == set()


def test_an_environment_in_many_archives(tmp_path: Path) -> None:
    """Otherwise nobody sees that the disk of the endpoint fills with copies."""
    packed = environment("3.10")
    packages = {name: {**members(name, ENV), f"{name}.step/env.tar.gz": packed} for name in "abc"}
    paths = [write(tmp_path / f"{name}.tar.gz", files) for name, files in packages.items()]
    (fault,) = (fault for fault in faults(*paths) if fault.rule != "environment-tar")
    assert fault.rule == "endpoint-same-environment" and "in 3 archives" in fault.message
    unpacked = {name: {**members(name, ENV[:-7]), **folder(f"{name}.step/env", packed)} for name in "abc"}
    assert not rules(*(write(tmp_path / f"{name}2.tar.gz", files) for name, files in unpacked.items()))


def test_an_environment_twice_in_one_archive(tmp_path: Path) -> None:
    """Otherwise AWS's example (the same environment in both steps) is silently extracted twice."""
    files = {**members("a", ENV), "a.step/env.tar.gz": environment("3.10"), "a/env.tar.gz": environment("3.10")}
    assert rules(write(tmp_path / "a.tar.gz", files)) == {"environment-stored-twice", "environment-tar"}


def test_mixed_targets(tmp_path: Path) -> None:
    """Otherwise an archive for CPUs is deployed beside one for GPUs."""
    one, two = (
        write(tmp_path / f"{name}.tar.gz", {**members(name), "manifest.json": f'{{"target": "{name}"}}'})
        for name in ("cpu", "gpu")
    )
    assert rules(one, two) == {"endpoint-mixed-targets"}
    assert rules(one) == set()


def test_requirements_that_no_image_meets(tmp_path: Path) -> None:
    """Otherwise one of two archives can never load, in any image."""
    old = write(tmp_path / "old.tar.gz", {**members("a", ENV), "a.step/env.tar.gz": environment("3.8")})
    new = write(tmp_path / "new.tar.gz", {**members("b", ENV), "b.step/env.tar.gz": environment("3.12")})
    (fault,) = (fault for fault in faults(old, new) if fault.rule != "environment-tar")
    assert fault.rule == "image-none-fits"
    assert "22.07 to 23.04 (an environment with Python 3.8)" in fault.message
    assert "24.11 to" in fault.message
    config = f'platform: "tensorflow_graphdef"\nmax_batch_size: 1\n{IO}'
    tensorflow = write(tmp_path / "tf.tar.gz", {"b/config.pbtxt": config, "b/1/model.graphdef": GRAPH_IDENTITY})
    assert rules(tensorflow, new) == {"environment-tar"}  # 24.11 to 25.02 have both
    assert rules(tensorflow, old) == {"environment-tar"}
