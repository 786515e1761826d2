"""The options of perf."""

import pytest

from tests.commands.projects import run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *((["--concurrency", text], "is not a list such as 1,2,4") for text in ("", "0", "1,x", "1:4")),
        (["bert_trt", "--shape", "NONE:3"], "--shape: bert_trt has no input 'NONE'; it has INPUT0"),
        (["bert_trt", "--shape", "INPUT0=3"], "'INPUT0=3' is not a shape such as IMAGE:3,224,224"),
        (["bert_trt", "--shape", "INPUT0:3,4"], "--shape: INPUT0 has the dims"),
        (["resnet_pytorch", "--shape", "INPUT__0:3,224,225"], "--shape: INPUT__0 has the dims [3, 224, 224]"),
        (["--shape", "INPUT0:3"], "--input-data and --shape are for one ensemble: name it"),
    ],
)
def test_wrong_inputs_are_refused_before_anything_is_built(arguments: list[str], words: str) -> None:
    """Otherwise a typo costs minutes of building and starting a server."""
    result = run("perf", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "sha256" not in result.output
