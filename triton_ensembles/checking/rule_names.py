"""Names of rules that people write: in comments, in pyproject.toml and after ``--explain``."""

from triton_ensembles.checking.rule import REGISTERED
from triton_ensembles.ground.spelling import nearest

# Rules that became part of another one, which gives such findings a lower severity.
MERGED = {
    "environment-import-later": "environment-import-missing",
    "model-py-call-arguments-later": "model-py-call-arguments",
    "model-py-object-use-later": "model-py-object-use",
    "model-py-undefined-name-later": "model-py-undefined-name",
}


def cure_for(name: str) -> str:
    """The advice to somebody who wrote ``name``, which no rule has."""
    if name in MERGED:
        return f"it is a part of '{MERGED[name]}' now"
    begins = next((id for id in REGISTERED if len(name) > 3 and id.startswith(name)), None)
    meant = begins or nearest(name, [id for id in REGISTERED if abs(len(id) - len(name)) < 6])
    return f"did you mean '{meant}'?" if meant else "check --explain lists the rules"
