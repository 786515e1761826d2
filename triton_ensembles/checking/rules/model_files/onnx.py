"""The tensors of an ONNX file, and the files with its weights, compared with config.pbtxt and the version folder."""

import posixpath
from collections.abc import Iterator
from typing import Any

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.checking.built_for import artifacts, fact
from triton_ensembles.checking.completed import completed_config
from triton_ensembles.checking.config_tensors import dims_of, same_shape, sequence_inputs
from triton_ensembles.checking.examples import ONNX_EXTERNAL, ONNX_LICENSED, io_tensor, onnx_model
from triton_ensembles.checking.loaded_files import file_of, loaded_files
from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.rule import Finding, Model, note, rule, warning
from triton_ensembles.ground.spelling import listed, nearest
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.triton.model_config import DataType

SOURCE = "onnxruntime_backend r24.10 onnxruntime.cc ValidateInputs, ValidateOutputs, onnxruntime_utils.cc"
GOOD = onnx_model()


@rule("A config has the inputs and outputs of its ONNX file", bad=onnx_model(io_tensor("x")), words='has input "x"')
def onnx_tensor_name(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
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


@rule(
    "Tensors have the same types in the config and in the ONNX file",
    bad=onnx_model(io_tensor("X", "INT64")),
    words="is TYPE_INT64 in the config, but TYPE_FP32 in the file",
)
def onnx_tensor_type(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        for kind, number, written, tensor in _pairs(model, file):
            configured = DataType.Name(written.data_type) if written.data_type in DataType.values() else ""
            if tensor.data_type and configured not in ("", "TYPE_INVALID", tensor.data_type):
                message = f"{kind} '{tensor.name}' is {configured} here and {tensor.data_type} in {path}"
                expects = f"configuration expects datatype {configured}, model provides {tensor.data_type}"
                effect, cure = f"Triton does not load the model: {expects}", f"write data_type: {tensor.data_type}"
                yield Finding(model.at(kind, number, "data_type"), message, effect, cure)


@rule(
    "Tensors have shapes in the config that agree with the ONNX file",
    bad=onnx_model(io_tensor("X", dims="5")),
    words="in the config, but …in the file",
)
def onnx_tensor_dims(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        fixed: list[str] = []
        for kind, number, written, tensor in _pairs(model, file):
            dims = dims_of(written)
            batched = model.config.max_batch_size > 0
            if not tensor.dims or dims is None or (kind == "input" and written.allow_ragged_batch):
                continue
            place, full = model.at(kind, number, "dims"), [-1, *dims] if batched else dims
            shown = f"{list(tensor.dims)} in {path}"
            if batched and tensor.dims[0] != -1:
                fixed.append(f"{kind} '{tensor.name}' is {list(tensor.dims)}")
            elif not same_shape(full, tensor.dims):
                axis = " with the batch axis" if batched else ""
                message = f"{kind} '{tensor.name}' is {full}{axis} here and {shown}"
                counts = f"the model expects {len(tensor.dims)} dimensions, and the configuration specifies {len(full)}"
                cure = f"write dims: [ {', '.join(map(str, tensor.dims[1 if batched else 0 :]))} ]"
                yield Finding(place, message, f"Triton does not load the model: {counts}", cure)
        if fixed:
            size, axes = model.config.max_batch_size, ", ".join(fixed[:4])
            message = f"max_batch_size is {size}, and the first axis is fixed in {path}: {axes}"
            effect = "Triton does not load the model: to support batching, the first dimension must be -1"
            cure = "export the model with a dynamic first axis, or write max_batch_size: 0 and all axes as dims"
            yield Finding(model.at("max_batch_size"), message, effect, cure)


@rule(
    "A config that Triton completes has no max_batch_size where the ONNX file cannot batch",
    source="onnxruntime_backend onnxruntime.cc AutoCompleteMaxBatch",
)
def onnx_completion(model: Model) -> Iterator[Finding]:
    try:
        completed_config(model)
    except LoadError as error:
        message = (
            f"max_batch_size is {model.file.config.max_batch_size}, and an axis in front is fixed in the ONNX file"
        )
        effect = f"Triton does not load the model: {error}"
        cure = "export the model with a first axis of any size for every input and output, or delete max_batch_size"
        yield Finding(model.at("max_batch_size"), message, effect, cure)


@warning("No axis is of any size in the config that the ONNX file fixes", bad=onnx_model(io_tensor("X", dims="-1")))
def onnx_tensor_dims_fixed(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        for kind, number, written, tensor in _pairs(model, file):
            dims = dims_of(written) or []
            fixed = list(tensor.dims or ())[1 if model.config.max_batch_size > 0 else 0 :]
            if same_shape(dims, fixed) and any(a == -1 != b for a, b in zip(dims, fixed, strict=True)):
                message = f"{kind} '{tensor.name}' has an axis of any size here, and {fixed} in {path}"
                effect = "this project's own server loads it; Triton's native backend does not"
                cure = f"write dims: [ {', '.join(map(str, fixed))} ]"
                yield Finding(model.at(kind, number, "dims"), message, effect, cure)


@rule(
    "The files with the weights of an ONNX file are beside it, and long enough",
    source="onnx docs, ExternalData.md: a location is relative to the folder of the ONNX file",
    bad=onnx_model(file=ONNX_EXTERNAL),
    words="cannot load model.onnx",
)
def onnx_external_data(model: Model) -> Iterator[Finding]:
    for path, file in _onnx_files(model):
        folder = path.rpartition("/")[0]
        for location, size in sorted(file.external.items()):
            inner = posixpath.normpath(join(folder, location))
            if location.startswith("/") or inner.startswith("../") or model.is_made(inner):
                continue
            entry = model.get(inner)
            if entry is None:
                message = f"{path} has its weights in '{location}', which is not there"
            elif entry.kind is Kind.FILE and (pointer := file_of(model, inner)) and pointer.is_pointer:
                message = f"{path} has its weights in '{location}', which is a pointer of Git LFS"
            elif entry.kind is Kind.FILE and entry.size < size:
                message = f"{path} needs {size} bytes of '{location}', which has {entry.size}"
            else:
                continue
            effect = "ONNX Runtime cannot load it, so Triton does not load the model"
            cure = f"copy {location} into the folder of the ONNX file, or save the model as one file with onnx.save"
            yield Finding(model.place(folder if entry is None else inner), message, effect, cure)


@note(
    "An ONNX file whose metadata name a license is used as that license says",
    source="onnx/onnx.proto3 ModelProto.metadata_props; exporters such as that of YOLOv5 write a license there",
    bad=onnx_model(file=ONNX_LICENSED),
)
def onnx_license(model: Model) -> Iterator[Finding]:
    licenses = {path: file.license for path, file in _onnx_files(model) if file.license} or {
        # What the build wrote in another format has no metadata, but a record in the manifest.
        path: text
        for path, record in artifacts(model).items()
        if (text := fact(record, "license")) and model.get(path)
    }
    for path, text in licenses.items():
        name = " ".join(text.split())[:80]
        network = ": who lets others use it over a network may have to offer them the source"
        effect = "it is for you to keep" + network * ("GPL" in name.upper())
        cure = "change nothing if you may use the model so; docs/ensembles.md has more about detectors"
        yield Finding(model.place(path), f"the metadata of this model name a license: {name}", effect, cure)


def _onnx_files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    """The ONNX files that this model may load: in ensembles/, a step has one file for each target."""
    paths = [path for path, _ in loaded_files(model)] if model.backend.name == "onnxruntime" else []
    if model.repository.builds:
        folders = [model.versions[number] for number in model.served_versions]
        files = [join(folder, name) for folder in folders for name in model.children(folder)]
        paths += [path for path in files if path.endswith(".onnx") and path not in paths]
    for path in paths:
        file = file_of(model, path)
        if file and not file.broken:
            yield path, file


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    """Files whose tensors the config has to match. A config without inputs or outputs is completed from the file."""
    is_onnx = model.backend.name == "onnxruntime"
    return _onnx_files(model) if is_onnx and model.config.input and model.config.output else iter(())


def _sides(model: Model, file: ModelFile) -> Iterator[tuple[str, list[Any], tuple[ModelTensor, ...]]]:
    yield "input", list(model.config.input), file.inputs or ()
    yield "output", list(model.config.output), file.outputs or ()


def _pairs(model: Model, file: ModelFile) -> Iterator[tuple[str, int, Any, ModelTensor]]:
    """The tensors of the config with those of the file: kind, number, both tensors."""
    for kind, declared, in_file in _sides(model, file):
        by_name = {tensor.name: tensor for tensor in in_file}
        computed = {name for batch_output in model.config.batch_output for name in batch_output.target_name}
        for number, written in enumerate(declared):
            if written.name in by_name and not (kind == "output" and written.name in computed):
                yield kind, number, written, by_name[written.name]
