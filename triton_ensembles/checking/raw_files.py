"""Files of raw data that a config names."""

from collections.abc import Iterator, Sequence

from triton_ensembles.checking.fault import Finding, Place
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.tensors import ELEMENT_BYTES, element_count, type_name
from triton_ensembles.triton.model_config import DataType


def missing_or_short(
    model: Model, place: Place, folder: str, name: str, data_type: int, dims: Sequence[int]
) -> Iterator[Finding]:
    """The fault of a file of raw data that ``place`` names: shared by initial states and warm-up samples."""
    path = f"{folder}/{name}"
    entry = model.get(path)
    # As triton/common counts them: text and unknown types as 4 bytes for each element.
    needed = ELEMENT_BYTES.get(type_name(data_type), 4) * element_count(dims)
    if entry is None or entry.is_folder:
        if not model.is_made(path):
            effect = f"Triton refuses it: failed to open text file for read {path}: No such file or directory"
            yield Finding(place, f"there is no file {path}", effect, f"put it into {model.folder}/{folder}/")
    elif entry.size < needed and data_type != DataType.TYPE_STRING:
        effect = f"expects {needed} bytes, but the data provided from {name} only has {entry.size} bytes"
        message = f"{path} has {entry.size} bytes, and the tensor needs {needed}"
        yield Finding(place, message, f"Triton refuses it: {effect}", "write a longer file")
