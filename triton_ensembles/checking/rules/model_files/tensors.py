"""The tensors of config.pbtxt compared with those that a model file names: of ONNX, and of a SavedModel's signature."""

from collections.abc import Iterable, Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import dims_of, same_shape, sequence_inputs, type_name
from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.rule import Finding, Model
from triton_ensembles.ground.spelling import listed, nearest
from triton_ensembles.triton.model_config import DataType

Files = Iterable[tuple[str, ModelFile]]


def other_names(model: Model, files: Files) -> Iterator[Finding]:
    """Yield the tensors of the config that a file does not have, and the inputs that the config lacks."""
    for path, file in files:
        for kind, declared, in_file in _sides(model, file):
            known = {tensor.name for tensor in in_file}
            for number, tensor in enumerate(declared):
                if tensor.name not in known | file.names and tensor.name:
                    unused = known - {written.name for written in declared}
                    meant = nearest(tensor.name, unused) or nearest(tensor.name, known)
                    message = f"{path} has no {kind} '{tensor.name}'; it has {listed(known) or 'none'}"
                    effect = f"Triton does not load the model: unexpected inference {kind} '{tensor.name}'"
                    cure = f'write name: "{meant}"' if meant else "write the names that the file has"
                    yield Finding(model.at(kind, number, "name"), message, effect, cure)
            computed = {name for batch_input in model.config.batch_input for name in batch_input.target_name}
            named = {tensor.name for tensor in declared} | computed | sequence_inputs(model)
            lacking = [name for name in sorted(known - named) if name] if kind == "input" else []
            if lacking and all(tensor.name in known for tensor in declared):
                message = f"{path} also needs {listed(lacking)} as input, which the config lacks"
                counts = f"configuration expects {len(declared)} inputs, model provides {len(known)}"
                cure = "add it to config.pbtxt, or export the model without it"
                yield Finding(model.at("input"), message, f"Triton does not load the model: {counts}", cure)


def other_types(model: Model, files: Files) -> Iterator[Finding]:
    """Yield the tensors that have another type in a file."""
    for path, file in files:
        for kind, number, written, tensor in pairs(model, file):
            configured = type_name(written.data_type) if written.data_type in DataType.values() else ""
            if tensor.data_type and configured not in ("", "TYPE_INVALID", tensor.data_type):
                message = f"{kind} '{tensor.name}' is {configured} here and {tensor.data_type} in {path}"
                expects = f"configuration expects datatype {configured}, model provides {tensor.data_type}"
                effect, cure = f"Triton does not load the model: {expects}", f"write data_type: {tensor.data_type}"
                yield Finding(model.at(kind, number, "data_type"), message, effect, cure)


def other_dims(model: Model, files: Files) -> Iterator[Finding]:
    """Yield the tensors that have another shape in a file, and a batch axis that it fixes."""
    batched = model.config.max_batch_size > 0
    for path, file in files:
        fixed: list[str] = []
        for kind, number, written, tensor in pairs(model, file):
            dims = dims_of(written)
            if not tensor.dims or dims is None or (kind == "input" and written.allow_ragged_batch):
                continue
            full = [-1, *dims] if batched else dims
            if batched and tensor.dims[0] != -1:
                fixed.append(f"{kind} '{tensor.name}' is {list(tensor.dims)}")
            elif not same_shape(full, tensor.dims):
                axis = " with the batch axis" if batched else ""
                message = f"{kind} '{tensor.name}' is {full}{axis} here and {list(tensor.dims)} in {path}"
                counts = f"the model expects {len(tensor.dims)} dimensions, and the configuration specifies {len(full)}"
                cure = f"write dims: [ {', '.join(map(str, tensor.dims[1 if batched else 0 :]))} ]"
                effect = f"Triton does not load the model: {counts}"
                yield Finding(model.at(kind, number, "dims"), message, effect, cure)
        if fixed:
            size, axes = model.config.max_batch_size, ", ".join(fixed[:4])
            message = f"max_batch_size is {size}, and the first axis is fixed in {path}: {axes}"
            effect = "Triton does not load the model: to support batching, the first dimension must be -1"
            cure = "export the model with a dynamic first axis, or write max_batch_size: 0 and all axes as dims"
            yield Finding(model.at("max_batch_size"), message, effect, cure)


def pairs(model: Model, file: ModelFile) -> Iterator[tuple[str, int, Any, ModelTensor]]:
    """Yield the tensors of the config with those of the file: kind, number, both tensors."""
    computed = {name for batch_output in model.config.batch_output for name in batch_output.target_name}
    for kind, declared, in_file in _sides(model, file):
        by_name = {tensor.name: tensor for tensor in in_file}
        for number, written in enumerate(declared):
            if written.name in by_name and not (kind == "output" and written.name in computed):
                yield kind, number, written, by_name[written.name]


def _sides(model: Model, file: ModelFile) -> Iterator[tuple[str, list[Any], tuple[ModelTensor, ...]]]:
    yield "input", list(model.config.input), file.inputs or ()
    yield "output", list(model.config.output), file.outputs or ()
