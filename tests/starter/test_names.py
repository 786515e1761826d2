"""The names of new ensembles: what Triton, a shell, a URL or a file system cannot take is refused."""

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.starter.names import check_name


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("Moods-2.1_a b", "Moods-2.1_a_b"),
        ("", None),
        ("größe", "gr_e"),
        (".hidden", "hidden"),
        ("-option", "option"),
        ("../a", "_a"),
        ("a$b", "a_b"),
        ("a\nb", "a_b"),
        ("model.tar.gz", "model"),
        ("x" * 101, "x" * 100),
        ("💡", None),
    ],
)
def test_what_it_cannot_be_called(name: str, instead: str | None) -> None:
    with pytest.raises(EnsembleError, match="cannot be the name of an ensemble: it ") as caught:
        check_name(name)
    assert (f"{instead!r} would do" in caught.value.cure) if instead else ("would do" not in caught.value.cure)
    if instead:
        check_name(instead)
