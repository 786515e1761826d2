"""The engines that are copied into archives look for the files that the checker expects."""

from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.triton.model_formats import GRAPHDEF, file_of


def test_engines_look_for_the_files_of_the_table() -> None:
    """Otherwise a repository that check finds right is one that the server cannot load."""
    assert {name: file for name, (file, *_) in ENGINES.items()} == {
        name: file_of(name) or GRAPHDEF.file for name in ENGINES
    }
