"""What pip prints when it downloads nothing becomes one sentence, with what to do."""

import pytest

from triton_ensembles.artifacts.environment.pip_failures import explained, reason_of
from triton_ensembles.ground.programs import ProgramError

CONFLICT = """\
The conflict is caused by:
    frame 3.1 depends on numpy>=2; python_version < "3.14"
    frame 3.0 depends on numpy>=2; python_version < "3.14"
    The user requested (constraint) numpy<2

To fix this you could try to:
"""
PINNED = CONFLICT.replace("The user requested (constraint) numpy<2", "The user requested numpy==1.21; extra == 'a'")
MISSING = "ERROR: Could not find a version that satisfies the requirement frame{} (from versions: {})"
HASHES = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, …
    frame==3.1 from https://example.com/frame-3.1-cp312-cp312-linux_x86_64.whl:
        Expected sha256 12
"""


def failure(printed: str) -> ProgramError:
    return ProgramError(["pip"], 1, "", printed)


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        (
            CONFLICT,
            "these requirements contradict each other: frame 3.1 depends on numpy>=2; the steps need numpy<2; change "
            "the version of frame",
        ),
        (PINNED, "frame 3.1 depends on numpy>=2; you ask for numpy==1.21; change the version of numpy or frame"),
        (MISSING.format("<2", "1.0, 2.0rc1"), "no wheel brings frame<2 for Python 3.12 and glibc 2.36; ask for a "),
        (MISSING.format("<2", "1.0, 2.0rc1"), "the newest are 1.0"),
        (MISSING.format("", "none"), "if the name is right, build one with `pip wheel frame` under that Python"),
        (
            "WARNING: Retrying (Retry(total=4))\n" + MISSING.format("", "none"),
            "frame: it cannot reach the index; check",
        ),
    ],
    ids=["constraint", "pin", "no-wheel", "newest", "no-such-package", "no-index"],
)
def test_a_failure_is_one_sentence_with_what_to_do(printed: str, says: str) -> None:
    """pip itself lists each version that it tried, a hundred of them for pandas."""
    assert says in str(explained(failure(printed), ["frame"], "3.12", (2, 36)))


def test_a_hash_of_the_file_for_another_python_is_no_attack() -> None:
    assert reason_of(failure(HASHES)) == "the file of frame==3.1 for this Python has another hash"
