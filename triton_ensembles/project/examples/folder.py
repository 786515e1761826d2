"""The examples of an ensemble, found in the folder of its ensemble model."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.project.examples.place import FOLDER, examples_folder
from triton_ensembles.project.examples.request import Array, Request
from triton_ensembles.project.examples.request_file import read_request
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config

PERF = "perf.json"


@dataclass(frozen=True)
class Examples:
    """The example requests of an ensemble."""

    requests: tuple[Request, ...] = ()  # what demo and invoke send, in the order of the files' names
    load: tuple[Request, ...] = ()  # what perf sends row by row: perf.json, or else the requests

    def rows(self) -> Iterator[dict[str, Array]]:
        """The rows that perf sends, without the batch axis: tensors by name."""
        for request in self.load:
            yield from request.rows()


def read_examples(ensemble: Path) -> Examples:
    """The examples of the ensemble in ``ensemble``, a folder of ensembles/; see :func:`examples_of`."""
    return examples_of(examples_folder(ensemble).parent)


def examples_of(model: Path) -> Examples:
    """The examples in the folder of a model; without any requests where it has none. Raises :class:`EnsembleError`: a
    request is not valid, or its file cannot be read."""
    folder = model / FOLDER
    paths = sorted(folder.glob("*.json"))
    config = read_config(folder.parent / CONFIG) if paths else ModelConfig()
    requests = tuple(read_request(path, config) for path in paths if path.name != PERF)
    load = tuple(read_request(path, config) for path in paths if path.name == PERF)
    return Examples(requests, load or requests)
