"""digits, networks for variants of it, and the command ``clone`` with a table."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from examples.digit_variants import SHARE
from pipelines.train_digits import MODEL, onnx_of, train
from tests.commands.projects import run
from tests.files import write_files
from tests.places import built_by
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places


@pytest.fixture(scope="session")
def digits(places: Places) -> Built:
    return built_by(places, "digits")


@pytest.fixture(scope="session")
def networks() -> Callable[[int], bytes]:
    """The ONNX file of a seed, as examples/digit_variants.py writes it."""
    return cache(lambda seed: onnx_of(train(seed, SHARE)))


class Variants:
    """A table and its files in a folder, and what ``clone`` makes of them."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.archive, self.folder, self.output = archive, folder, folder / "out"
        self.rows: list[str] = []

    def add(self, name: str, content: bytes | None = None, *, inner: str = MODEL, more: str = "") -> None:
        """A row, with a file in a folder of its own."""
        self.rows.append(f"{name},weights/{name}{more}")
        if content is not None:
            self.write(name, content, inner)

    def write(self, name: str, content: bytes, inner: str = MODEL) -> None:
        write_files(self.folder / "weights" / name, {inner: content})

    def clone(self, *options: str, header: str = "name,files") -> Result:
        (self.folder / "variants.csv").write_text("\n".join([header, *self.rows]) + "\n")
        return run("clone", self.archive, "--variants", self.folder / "variants.csv", "--output", self.output, *options)

    def cloned(self, **options: Any) -> Mapping[str, Any]:
        """The document of --format json."""
        found: dict[str, Any] = json.loads(self.clone("--quiet", "--format", "json", **options).stdout)
        return found

    def archives(self) -> dict[str, int]:
        """When each was written, in nanoseconds."""
        return {path.name.removesuffix(".tar.gz"): path.stat().st_mtime_ns for path in self.output.glob("*.tar.gz")}


@pytest.fixture
def variants(digits: Built, tmp_path: Path) -> Variants:
    return Variants(digits.archive, tmp_path)
