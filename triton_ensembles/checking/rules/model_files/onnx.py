"""The tensors of an ONNX file, and the files with its weights, compared with config.pbtxt and the version folder."""

import posixpath
from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.checking.built_for import artifacts, fact
from triton_ensembles.checking.completed import completed_config
from triton_ensembles.checking.config_tensors import dims_of, same_shape
from triton_ensembles.checking.examples import ONNX_EXTERNAL, ONNX_LICENSED, io_tensor, onnx_model
from triton_ensembles.checking.loaded_files import file_of, loaded_files
from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, note, rule
from triton_ensembles.checking.rules.model_files.tensors import other_dims, other_names, other_types, pairs
from triton_ensembles.runtime.backends.common.model_instance import LoadError

SOURCE = "onnxruntime_backend r24.10 onnxruntime.cc ValidateInputs, ValidateOutputs, onnxruntime_utils.cc"
GOOD = onnx_model()


@rule("A config has the inputs and outputs of its ONNX file", bad=onnx_model(io_tensor("x")), words='has input "x"')
def onnx_tensor_name(model: Model) -> Iterator[Finding]:
    return other_names(model, _files(model))


@rule(
    "Tensors have the same types in the config and in the ONNX file",
    bad=onnx_model(io_tensor("X", "INT64")),
    words="is TYPE_INT64 in the config, but TYPE_FP32 in the file",
)
def onnx_tensor_type(model: Model) -> Iterator[Finding]:
    return other_types(model, _files(model))


@rule(
    "Tensors have shapes in the config that agree with the ONNX file",
    bad=onnx_model(io_tensor("X", dims="5")),
    lower=Severity.WARNING,
    words="in the config, but …in the file",
)
def onnx_tensor_dims(model: Model) -> Iterator[Finding]:
    files = list(_files(model))
    yield from other_dims(model, files)
    for path, file in files:
        for kind, number, written, tensor in pairs(model, file):
            dims, is_ragged = dims_of(written), kind == "input" and written.allow_ragged_batch
            fixed = list(tensor.dims or ())[1 if model.config.max_batch_size > 0 else 0 :]
            if dims is not None and not (tensor.dims or tensor.kind or is_ragged):
                yield from _of_a_number(model, (kind, number), path, tensor, dims)
            elif dims and same_shape(dims, fixed) and any(a == -1 != b for a, b in zip(dims, fixed, strict=True)):
                message = f"{kind} '{tensor.name}' has an axis of any size here, and {fixed} in {path}"
                effect = "this project's own server loads it; Triton's native backend does not"
                cure = f"write dims: [ {', '.join(map(str, fixed))} ]"
                yield Finding(model.at(kind, number, "dims"), message, effect, cure, Severity.WARNING)


def _of_a_number(
    model: Model, place: tuple[str, int], path: str, tensor: ModelTensor, dims: list[int]
) -> Iterator[Finding]:
    """Yield the fault of a tensor that has no axes, or of an input without a shape, which Triton takes for one. ONNX
    Runtime computes those of outputs."""
    if tensor.dims is None and place[0] == "output":
        return
    has = f"has no shape in {path}" if tensor.dims is None else f"is a single number in {path}"
    cure = "export it with an axis for the batch; for a single number, write max_batch_size: 0 and dims: [ 1 ]"
    if any(dim != 1 for dim in dims):
        effect = "Triton does not load the model: such a scalar tensor should only provide 1 in the model configuration"
        message = f"{place[0]} '{tensor.name}' is {dims} here, and {has}"
        yield Finding(model.at(*place, "dims"), message, effect, cure)
    elif model.config.max_batch_size > 0:
        effect = "this project's own server does not load it; Triton's native backend does, and combines its requests"
        message = f"{place[0]} '{tensor.name}' {has}, and the model has max_batch_size {model.config.max_batch_size}"
        yield Finding(model.at(*place), message, effect, cure, Severity.WARNING)


@rule(
    "The inputs and outputs of an ONNX file are tensors",
    source="onnxruntime_backend onnxruntime_utils.cc InputOutputInitializerInfos, for all that the file has",
    lower=Severity.WARNING,
)
def onnx_tensor_kind(model: Model, destination: Destination) -> Iterator[Finding]:
    is_own = destination.device == "fused" or (destination.device == "cpu" and not destination.image)
    for path, file in _onnx_files(model):
        for kind, in_file in (("input", file.inputs or ()), ("output", file.outputs or ())):
            names = [tensor.name for tensor in getattr(model.written, kind)]
            for tensor in in_file:
                if tensor.kind:
                    named = tensor.name in names
                    place = model.at(kind, names.index(tensor.name), "name") if named else model.place(path)
                    message = f"{kind} '{tensor.name}' of {path} is {tensor.kind}, not a tensor"
                    effect = f"Triton does not load the model: Unsupported ONNX Type for I/O '{tensor.name}'"
                    if is_own and not named:
                        effect = "this project's own server loads it; Triton's native backend does not"
                    cure = "export the model without it (skl2onnx: options={'zipmap': False})"
                    yield Finding(place, message, effect, cure, Severity.WARNING if is_own and not named else None)


@rule(
    "A config that Triton completes has no max_batch_size where the ONNX file cannot batch",
    source="onnxruntime_backend onnxruntime.cc AutoCompleteMaxBatch",
)
def onnx_completion(model: Model) -> Iterator[Finding]:
    try:
        completed_config(model)
    except LoadError as error:
        size = model.file.config.max_batch_size
        message = f"max_batch_size is {size}, and the ONNX file does not leave every first axis open"
        effect = f"Triton does not load the model: {error}"
        cure = "export the model with a first axis of any size for every input and output, or delete max_batch_size"
        yield Finding(model.at("max_batch_size"), message, effect, cure)


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
