"""What no archive can hold is refused before any of it is copied."""

from functools import partial
from pathlib import Path

import pytest

from tests.repositories import write_step
from triton_ensembles.archive.budget import Budget
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe import implied
from triton_ensembles.project.recipe.implied import Implied
from triton_ensembles.triton.destination import Destination


def test_links_that_stand_for_any_number_of_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise forty folders of two links each are copied until the disk is full."""
    monkeypatch.setattr(implied, "Budget", partial(Budget, entries=1000))
    models = tmp_path / "models"
    version = write_step(models, "scale") / "1"
    for number in range(40):
        (version / f"d{number}").mkdir()
        for name in "xy" if number < 39 else "":
            (version / f"d{number}" / name).symlink_to(f"../d{number + 1}")
    recipe = Implied("models", models, models, ("scale",), ("scale",), Destination())
    with pytest.raises(EnsembleError, match="this cannot be an archive: it has more than"):
        list(recipe.files())
