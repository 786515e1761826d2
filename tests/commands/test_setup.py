"""What `setup` says."""

import re

from click.testing import CliRunner

from triton_ensembles.commands.cli import main
from triton_ensembles.triton.home import VERSION


def test_it_says_what_works_here_every_time() -> None:
    """Otherwise the second run prints nothing, and nobody knows which engines and images can be rehearsed."""
    result = CliRunner().invoke(main, ["setup"])
    assert result.exit_code == 0, result.output
    assert f"tritonserver {VERSION} and perf_analyzer in " in result.stderr
    assert "engines  onnxruntime" in result.stderr
    for python, images in (("3.10", "23.05 to 24.10"), ("3.12", "24.11 to ")):
        assert re.search(rf"(?m)(^Python   |not installed: ){python}, of Triton's images {images}", result.stderr)
