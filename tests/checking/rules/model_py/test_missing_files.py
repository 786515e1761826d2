"""A folder beside model.py that it reads: whether it is there. For files see cases/model-py-missing-file.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import rules
from triton_ensembles.checking.python.examples import initializing
from triton_ensembles.checking.staging_example import stage


@pytest.mark.parametrize("kept", [True, False])
def test_the_folder_of_a_tokenizer_is_there(kept: bool, tmp_path: Path) -> None:
    """Otherwise transformers takes the path for a name on a hub, and says so in a message that nobody understands."""
    line = 'self.x = AutoTokenizer.from_pretrained(os.path.join(args["model_repository"], "tokenizer"))'
    stage(initializing(line, head="import os\nfrom transformers import AutoTokenizer\n\n\n"), tmp_path, "m")
    if kept:
        (tmp_path / "m/tokenizer").mkdir()
    assert ("model-py-missing-file" in rules(tmp_path)) is not kept
