"""A request in memory: tensors as NumPy arrays, and as tritonclient sends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tritonclient.http as http
from tritonclient.utils import np_to_triton_dtype

from triton_ensembles.ground.errors import EnsembleError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Request:
    """An example request."""

    path: Path  # the file that it was read from
    label: str  # what it is called on the screen, the file's name at first
    inputs: Mapping[str, Array]  # the tensors by name, with the batch axis; BYTES are object arrays of bytes
    # the requested outputs, with the number of classes (0: the tensor itself). Empty: all outputs.
    outputs: Mapping[str, int]
    batched: bool  # whether the first axis of every input is the batch

    def infer_inputs(self) -> list[http.InferInput]:
        """The tensors for ``InferenceServerClient.infer`` or ``generate_request_body``, as binary data."""
        return infer_inputs(self.inputs)

    def requested_outputs(self) -> list[http.InferRequestedOutput]:
        return [http.InferRequestedOutput(name, class_count=classes) for name, classes in self.outputs.items()]

    def rows(self) -> Iterator[dict[str, Array]]:
        """The inputs row by row, without the batch axis; the whole request where the ensemble does not batch."""
        if not self.batched:
            yield dict(self.inputs)
            return
        for number in range(min(len(values) for values in self.inputs.values())):
            yield {name: values[number] for name, values in self.inputs.items()}

    def with_texts(self, texts: Sequence[str]) -> Request:
        """The same request with these texts, one a row, in its input of datatype BYTES. Raises :class:`EnsembleError`:
        there is no such input, or more than one, or a row of it has several elements."""
        names = [name for name, values in self.inputs.items() if values.dtype == np.object_]
        if len(self.inputs) != 1 or not names or self.inputs[names[0]][:1].size != 1:
            raise EnsembleError("this request does not consist of one text a row", path=self.path)
        shape = (len(texts), *self.inputs[names[0]].shape[1:])
        values = np.array([text.encode() for text in texts], dtype=np.object_).reshape(shape)
        return replace(self, label=f"{len(texts)} texts", inputs={names[0]: values})


def infer_inputs(tensors: Mapping[str, Array]) -> list[http.InferInput]:
    """Tensors, with the batch axis, as tritonclient sends them."""
    return [
        http.InferInput(name, list(values.shape), np_to_triton_dtype(values.dtype)).set_data_from_numpy(values)
        for name, values in tensors.items()
    ]
