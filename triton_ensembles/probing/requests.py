"""The requests for a model: its examples, or one that is made up from its config."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.checking.probe import Trial
from triton_ensembles.project.examples.folder import examples_of
from triton_ensembles.project.examples.made_up import NAME, write_example
from triton_ensembles.project.examples.request import Request
from triton_ensembles.project.examples.request_file import read_request
from triton_ensembles.triton.model_config import ModelConfig

_LONGEST = 1 << 20  # bytes of code
_CALLS = b"InferenceRequest"


def requests_for(
    name: str, written: Path, config: ModelConfig, codes: dict[str, bytes]
) -> Iterator[tuple[Request, Trial]]:
    """The requests for the model called ``name``, none if its inputs cannot be made up.

    Args:
        written: the model's folder as people wrote it, with its examples.
        config: as the server completed it.
        codes: the code of each model of the repository.

    Raises:
        EnsembleError: an example is not valid.
    """
    if examples := examples_of(written).requests:
        for request in examples:
            yield request, _trial(request, f"the example {request.label}", is_made_up=False)
        return
    steps = [step.model_name for step in config.ensemble_scheduling.step]
    calls = bool(steps) or _CALLS in codes.get(name, b"")  # an ensemble's steps, and a model's calls, decode pictures
    with tempfile.TemporaryDirectory(prefix="request-") as scratch:
        if write_example(Path(scratch), config, codes.values() if calls else [codes.get(name, b"")]):
            request = read_request(Path(scratch) / NAME, config)
            yield request, _trial(request, "a request that was made up from its config", is_made_up=True)


def code_of(folder: Path) -> bytes:
    """The Python and DALI code in the version folders of a model, as far as it is small."""
    texts = []
    for path in sorted(folder.glob("*/*")):
        if path.suffix in (".py", ".dali") and path.is_file():
            with path.open("rb") as file:
                texts.append(file.read(_LONGEST))
    return b"\n".join(texts)


def _trial(request: Request, label: str, *, is_made_up: bool) -> Trial:
    rows = min(len(values) for values in request.inputs.values()) if request.batched else 0
    classified = frozenset(name for name, classes in request.outputs.items() if classes)
    return Trial(label, is_made_up, requested=frozenset(request.outputs), classified=classified, rows=rows)
