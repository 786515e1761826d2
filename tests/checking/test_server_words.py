"""The line of code that the server's words are about."""

from pathlib import Path

from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.server_words import place_in

CODE = """\
# raise ValueError("the picture is empty")
class TritonPythonModel:
    def execute(self, requests):
        print("ValueError( the picture is empty")
        raise ValueError(
            f"the picture is empty: {requests}"
        )
"""


def test_the_line_that_raises_is_named_and_no_text_that_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "m/1").mkdir(parents=True)
    (tmp_path / "m/1/model.py").write_text(CODE)
    (tmp_path / "m/config.pbtxt").write_text('backend: "python"')
    (repository,) = find_repositories(tmp_path)
    place = place_in("ValueError: the picture is empty: []", repository.models[0], "execute")
    assert place.line == 5
