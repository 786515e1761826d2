"""A project installs the tool from where it was installed: pip itself says where that was, and takes the line."""

import json
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from triton_ensembles.starter.origin import requirement
from triton_ensembles.starter.project import requirements
from triton_ensembles.version import __version__


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The metadata of an installed package, as pip leaves them, before all others."""
    folder = tmp_path / f"triton_ensembles-{__version__}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: triton-ensembles\nVersion: {__version__}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return folder / "direct_url.json"


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"url": "file:///w/triton_ensembles-0.2.0-py3-none-any.whl", "archive_info": {"hash": "sha256=ab"}},
         "triton-ensembles[serve] @ file:///w/triton_ensembles-0.2.0-py3-none-any.whl"),
        ({"url": "https://example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
         "triton-ensembles[serve] @ git+https://example.org/x.git@ab12"),
        ({"url": "file:///src/tool", "dir_info": {}}, "triton-ensembles[serve] @ file:///src/tool"),
        ({"url": "file:///src/tool", "dir_info": {"editable": True}}, "-e /src/tool[serve]"),
        ({"url": "file:///my%20src/tool", "dir_info": {"editable": True}}, '-e "/my src/tool[serve]"'),
    ],
)  # fmt: skip
def test_a_requirement_names_where_the_tool_came_from(installed: Path, origin: dict[str, object], line: str) -> None:
    installed.write_text(json.dumps(origin))
    assert requirement("[serve]") == line
    assert requirements({"python"}, makes_onnx=False) == line
    if not line.startswith("-e"):
        assert Requirement(line).extras == {"serve"}


def test_what_came_from_an_index_has_its_version(installed: Path) -> None:
    assert re.fullmatch(r"triton-ensembles\[serve\]==[\d.]+", requirement("[serve]"))
    installed.write_text("no JSON")
    assert requirement() == f"triton-ensembles=={__version__}"
