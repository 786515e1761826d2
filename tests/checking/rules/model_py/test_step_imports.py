"""Imports of steps to which the build gives an environment; for others see cases/import-uncertain.yaml."""

from __future__ import annotations

from pathlib import Path

from tests.checking.packing import MODEL_PY, members, rules, write_folder


def test_a_step_without_environment_in_the_recipe(tmp_path: Path) -> None:
    """Otherwise the build makes an archive that cannot load."""
    files = members("ensemble", model_py=f"import sklearn\n{MODEL_PY}")
    folder = write_folder(tmp_path / "ensembles" / "a", files)
    recipe = folder / "ensemble.toml"
    recipe.write_text('description = "x"\n')
    assert "import-missing" in rules(folder)
    recipe.write_text('description = "x"\n[environments.x]\nfile = "envs/x.yml"\nsteps = ["ensemble.step"]\n')
    assert "import-missing" not in rules(folder)
