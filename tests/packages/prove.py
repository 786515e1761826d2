"""``make packages``: each package of the table as a step, drawn and fused, in the real server; writes docs/packages.md.

A run that was interrupted goes on where it ended: reports/packages.json has what was seen.
"""

import json
import tempfile
import time
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from checkout import ROOT
from tests.configs import tensors
from tests.files import write_files
from tests.running import client_of
from triton_ensembles.building.build import build
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_json, write_file
from triton_ensembles.project.declared import Asked
from triton_ensembles.serving.served import served, server_of
from triton_ensembles.starter.implied import implied
from triton_ensembles.triton.targets import CPU, fused


@dataclass(frozen=True)
class Package:
    """A package of packages.toml."""

    name: str
    code: str
    requirements: tuple[str, ...]
    note: str
    ci: bool


def _package(name: str, row: dict[str, Any]) -> Package:
    return Package(name, row["code"], tuple(row.get("requirements", [name])), row.get("note", ""), row.get("ci", False))


_TABLE = tomllib.loads((Path(__file__).parent / "packages.toml").read_text())
PACKAGES = tuple(_package(name, row) for name, row in _TABLE.items())
IMAGES = ("24.09", "26.05")
FORMS = ("drawn", "fused")
_SEEN = ROOT / "reports" / "packages.json"
_PAGE = ROOT / "docs" / "packages.md"
_CONFIG = f'backend: "python"\nmax_batch_size: 8\n{tensors("X:FP32:1", "SECONDS:FP32:1")}'
_MODEL = """\
import time

import triton_python_backend_utils as pb_utils

began = time.perf_counter()
IMPORTS
seconds = time.perf_counter() - began


class TritonPythonModel:
    def execute(self, asked):  # `requests` may be the package
        import numpy

        if not (TRUE):
            raise ValueError("the package gives a wrong result")
        output = pb_utils.Tensor("SECONDS", numpy.array([[seconds]], "float32"))
        return [pb_utils.InferenceResponse([output]) for _ in asked]
"""


def prove(package: Package, form: str, image: str, folder: Path) -> tuple[float, float]:
    """Build the archive of a step that imports the package, and ask it. Returns its MB, and the seconds of its imports.
    Raises :class:`EnsembleError`: it cannot be built, or does not load."""
    *imports, true = package.code.splitlines()
    files = {
        "models/step/1/model.py": _MODEL.replace("IMPORTS", "\n".join(imports)).replace("TRUE", true),
        "models/step/config.pbtxt": _CONFIG,
        "models/requirements.txt": "".join(f"{line}\n" for line in package.requirements),
        "scratch": None,
    }
    write_files(folder, files)
    places, scratch = Places.of(folder), folder / "scratch"
    target = fused(image) if form == "fused" else CPU
    request, asked = BuildRequest(folder / "models", target, places, proof=Proof.ANSWERS), Asked(image=image)
    archive = build(implied(request, scratch, lambda _: None, asked), lambda _: None).archive
    found = served(archive, scratch, asked=asked)
    with client_of(server_of([found])) as client:
        given = http.InferInput("X", [1, 1], "FP32").set_data_from_numpy(np.zeros((1, 1), np.float32))
        seconds = client.infer(found.tops[0], [given]).as_numpy("SECONDS")
    assert seconds is not None
    return archive.stat().st_size / 1e6, float(seconds[0][0])


def main() -> None:
    seen = read_json(_SEEN) if _SEEN.is_file() else {}
    for package in PACKAGES:
        for image in IMAGES:
            for form in FORMS:
                key = f"{package.name} {form} {image}"
                if key in seen:
                    continue
                began = time.monotonic()
                with tempfile.TemporaryDirectory(prefix="packages-", ignore_cleanup_errors=True) as folder:
                    try:
                        seen[key] = prove(package, form, image, Path(folder))
                    except (EnsembleError, InferenceServerException) as error:
                        seen[key] = str(error).replace(f"{folder}/", "")
                print(f"{key}: {seen[key]} in {time.monotonic() - began:.0f} s", flush=True)
                write_file(_SEEN, json.dumps(seen, indent=1))
        write_file(_PAGE, page(seen))


def page(seen: dict[str, list[float] | str]) -> str:
    heads = [f"{form} {image}" for image in IMAGES for form in FORMS]
    proven = [package for package in PACKAGES if all(f"{package.name} {head}" in seen for head in heads)]
    rows = []
    for package in proven:
        cells = [_cell(seen[f"{package.name} {head}"], seen[f"pandas {head}"]) for head in heads]
        rows.append(f"| `{' '.join(package.requirements)}` | {' | '.join(cells)} | {package.note} |")
    return f"""\
# Packages of Python steps, proven

Each was the only line of a `requirements.txt`, imported by a step and used by a request, whose answer was right: built
for the Pythons of two images (3.10 and 3.12), as drawn and fused, and asked in tritonserver 2.51.0, on {date.today()}.
MB are those of the archive. The factor is the time of the imports as a ratio to that of pandas in the same column. Made
by `make packages`, which has tried {len(proven)} of {len(PACKAGES)} so far; do not edit.

| `requirements.txt` | {" | ".join(heads)} | |
|---|{"---|" * len(heads)}---|
""" + "".join(f"{row}\n" for row in rows)


def _cell(facts: list[float] | str, pandas: list[float] | str) -> str:
    if isinstance(facts, str) or isinstance(pandas, str):
        return str(facts).replace("|", "/")
    return f"{facts[0]:.1f} MB, {facts[1] / pandas[1]:.1f}"


if __name__ == "__main__":
    main()
