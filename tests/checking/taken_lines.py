"""Lines of model.py that take names from a module: what the checker says of each, and what the real server does."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path

from tests.checking.packing import MODEL_PY, faults
from tests.checking.served import ModelLoader
from triton_ensembles.checking.examples import python_model


def assert_agreed(lines: Mapping[str, tuple[str, bool, str]], rules: Set[str], folder: Path, head: str = "") -> None:
    """Each line after ``head``, in a model of its own, has a fault of ``rules`` if and only if the server refuses it.

    Args:
        lines: by the name of the model: the line, whether the server loads it, and a part of the cure.
    """
    models = folder / "models"
    for name, (line, _, _) in lines.items():
        (models / name / "1").mkdir(parents=True)
        (models / name / "config.pbtxt").write_text(python_model())
        (models / name / "1/model.py").write_text(f"{head}{line}\n{MODEL_PY}")
    cures = {each.place.path.split("/")[-3]: each.cure for each in faults(models) if each.rule in rules}
    assert cures.keys() == {name for name, (_, loads, _) in lines.items() if not loads}
    assert all(lines[name][2] in cure for name, cure in cures.items()), cures
    with ModelLoader(models, folder) as server:
        results = server.load_all(list(lines))
    assert {name: result.loaded for name, result in results.items()} == {n: loads for n, (_, loads, _) in lines.items()}
