"""The requests for a model: its examples, or one that is made up from its config."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.checking.probe import Trial
from triton_ensembles.project.examples.folder import examples_of
from triton_ensembles.project.examples.made_up import NAME, has_call, write_example
from triton_ensembles.project.examples.request import Request
from triton_ensembles.project.examples.request_file import read_request
from triton_ensembles.triton.model_config import ModelConfig


def requests_for(
    name: str, written: Path, config: ModelConfig, calls: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Request, Trial]]:
    """The requests for the model called ``name``, none if its inputs cannot be made up.

    Args:
        written: the model's folder as people wrote it, with its examples.
        config: as the server completed it.
        calls: the functions that the code of each model of the repository calls.

    Raises:
        EnsembleError: an example is not valid.
    """
    if examples := examples_of(written).requests:
        for request in examples:
            yield request, _trial(request, f"the example {request.label}", is_made_up=False)
        return
    own = calls.get(name, frozenset())
    if config.ensemble_scheduling.step or has_call(own, "InferenceRequest"):  # other models may decode pictures
        own = own.union(*calls.values())
    with tempfile.TemporaryDirectory(prefix="request-") as scratch:
        if write_example(Path(scratch), config, own):
            request = read_request(Path(scratch) / NAME, config)
            yield request, _trial(request, "a request that was made up from its config", is_made_up=True)


def _trial(request: Request, label: str, *, is_made_up: bool) -> Trial:
    rows = min(len(values) for values in request.inputs.values()) if request.batched else 0
    classified = frozenset(name for name, classes in request.outputs.items() if classes)
    return Trial(label, is_made_up, requested=frozenset(request.outputs), classified=classified, rows=rows)
