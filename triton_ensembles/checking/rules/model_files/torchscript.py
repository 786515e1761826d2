"""The arguments and results of ``forward`` in a TorchScript file, compared with config.pbtxt."""

from collections.abc import Iterator, Sequence
from typing import Any

from triton_ensembles.checking.config_tensors import named_indexes, type_name
from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.ground.spelling import listed
from triton_ensembles.triton.model_config import DataType

SOURCE = "pytorch_backend r24.10 libtorch.cc ValidateInputs, Execute, GetNamingConvention; measured with torch 2.13"
_TENSOR, _STRINGS, _DICTIONARY = "Tensor", "List[str]", "Dict[str, Tensor]"
# What is certainly neither a tensor nor a list of strings; a class or an Optional may be a tensor.
_NO_TENSOR = ("List[", "Dict[", "Tuple[")
_SCALARS = ("int", "float", "bool", "str", "number", "complex", "None", "NoneType", "Device")
_CONTROL_KINDS = frozenset(range(4))  # ModelSequenceBatching.Control.Kind


@rule("A config has one input for each argument of forward() in TorchScript, of its type")
def torchscript_inputs(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        if model.config.input and file.inputs and not _takes_dictionary(file):
            yield from _other_count(model, path, [item.name for item in file.inputs])
        yield from _other_arguments(model, path, file)


def _other_count(model: Model, path: str, arguments: Sequence[str]) -> Iterator[Finding]:
    names = [item.name for item in model.config.input]
    count = len(names) + len(model.config.batch_input) + _of_sequence(model.config)
    takes = f"forward() in {path} takes {len(arguments)} ({', '.join(arguments)})"
    indexes = named_indexes(names)
    if count != len(arguments):
        more = f" and {count - len(names)} that Triton computes" if count > len(names) else ""
        inputs = f"{len(names)} input{'s' if len(names) > 1 else ''} ({', '.join(names)}){more}"
        counts = f"configuration expects {count} inputs, model provides {len(arguments)}"
        effect = f"Triton does not load the model: {counts}"
        cure = "give each argument an input, INPUT__0 for the first"
        yield Finding(model.at("input"), f"the config has {inputs}, and {takes}", effect, cure)
    elif count == len(names) and not set(names) <= set(arguments) and indexes and sorted(indexes) != [*range(count)]:
        message = f"the inputs {listed(names)} are arguments {', '.join(map(str, indexes))}, and {takes}"
        effect = "an argument without a value makes every request fail"
        yield Finding(model.at("input"), message, effect, f"number them from 0 to {len(arguments) - 1}")


def _other_arguments(model: Model, path: str, file: ModelFile) -> Iterator[Finding]:
    """Yield the arguments that are neither tensors, nor lists of strings, nor one dictionary of tensors."""
    cure = "give forward() only tensors, lists of strings (TYPE_STRING), or one dictionary of tensors"
    arguments = list(zip([item.name for item in file.inputs or ()], file.kinds or (), strict=False))
    for name, kind in arguments:
        text = f"argument '{name}' of forward() in {path} is of type {kind}"
        if _takes_dictionary(file):
            effect = "every request fails: Triton gives it the tensors by their names"
            if kind != _DICTIONARY:
                yield Finding(model.at("input"), text, effect, cure)
            return
        if kind != _TENSOR and not kind.startswith("List["):
            effect = f"Triton does not load the model: An input of type '{kind}' was detected in the model"
            yield Finding(model.at("input"), text, effect, cure)
    for number, position in _positions([item.name for item in model.config.input], [name for name, _ in arguments]):
        if position < len(arguments):
            tensor, (name, kind) = model.config.input[number], arguments[position]
            text = f"argument '{name}' of forward() in {path} is of type {kind}"
            effect = "every request fails: forward() refuses its value"
            if kind.startswith("List[") and kind != _STRINGS:
                yield Finding(model.at("input", number), text, effect, cure)
            elif kind in (_TENSOR, _STRINGS) and (kind == _TENSOR) == (tensor.data_type == DataType.TYPE_STRING):
                message = f"input '{tensor.name}' is {type_name(tensor.data_type)}, and {text}"
                yield Finding(model.at("input", number), message, effect, cure)


@rule("forward() in TorchScript returns the outputs that the config has: tensors and lists of strings")
def torchscript_outputs(model: Model) -> Iterator[Finding]:
    names = [output.name for output in model.config.output]
    for path, file in _files(model):
        results = file.results or ()
        if odd := _odd(results):
            message = f"forward() in {path} returns {odd}" + (" among others" if len(results) > 1 else "")
            effect = "every request fails: output must be of type Tensor, List[str] or Tuple containing one of these"
            yield Finding(model.at("output"), message, effect, "return a tensor, or a tuple of tensors")
            continue
        for number, index in _positions(names, []) if file.results is not None else ():
            tensor = model.config.output[number]
            kind = results[index] if index < len(results) else ""
            if not kind:
                message = f"'{tensor.name}' is output {index}, and forward() in {path} has {len(results)}, from 0"
                effect = "every request fails: it refers to an output index which doesn't exist"
                cure = "number the outputs from 0, or delete this one"
                yield Finding(model.at("output", number, "name"), message, effect, cure)
            elif kind in (_TENSOR, _STRINGS) and (kind == _TENSOR) == (tensor.data_type == DataType.TYPE_STRING):
                written, effect = type_name(tensor.data_type), "no request gets it as the config says"
                message = f"output '{tensor.name}' is {written}, and forward() in {path} makes a {kind}"
                cure = "write data_type: TYPE_STRING" if kind == _STRINGS else "write the type of the tensor"
                yield Finding(model.at("output", number, "data_type"), message, effect, cure)


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    return ((path, file) for path, file in files_read(model, "pytorch") if file.inputs is not None)


def _of_sequence(config: Any) -> int:
    """Count the inputs that sequence_batching adds: the backend looks for four kinds of controls, one of each."""
    batching = config.sequence_batching
    kinds = {control.kind for tensor in batching.control_input for control in tensor.control}
    return len(kinds & _CONTROL_KINDS) + len(batching.state)


def _takes_dictionary(file: ModelFile) -> bool:
    return file.kinds is not None and len(file.kinds) == 1 and file.kinds[0].startswith("Dict[")


def _odd(results: Sequence[str]) -> str:
    """The first that Triton cannot answer with; the backend looks at all of them, also at those of no output."""
    return next(
        (result for result in results if result in _SCALARS or (result != _STRINGS and result.startswith(_NO_TENSOR))),
        "",
    )


def _positions(names: Sequence[str], arguments: Sequence[str]) -> Iterator[tuple[int, int]]:
    if arguments and set(names) <= set(arguments):
        yield from enumerate(map(arguments.index, names))
    else:
        yield from enumerate(named_indexes(names) or range(len(names)))
