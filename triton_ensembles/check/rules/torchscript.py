"""The arguments and results of ``forward`` in a TorchScript file, compared with config.pbtxt."""

import re
from collections.abc import Iterator, Sequence

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.loaded_files import file_of, loaded_files
from triton_ensembles.check.model_files.file import ModelFile
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Server, rule
from triton_ensembles.spelling import listed

SOURCE = "pytorch_backend r24.10 libtorch.cc ValidateInputs, GetNamingConvention; measured with torch 2.13"
_INDEX = "__"


@rule("A config has one input for each argument of forward() in TorchScript", server=Server.UNTESTED)
def torchscript_inputs(model: Model) -> Iterator[Finding]:
    config = model.config
    # Inputs that Triton computes are arguments, too: they are counted in another way.
    if not config.input or config.batch_input or config.HasField("sequence_batching"):
        return
    names = [each.name for each in config.input]
    for path, file in _files(model):
        arguments = [each.name for each in file.inputs or ()]
        if not arguments or (file.kinds and len(file.kinds) == 1 and file.kinds[0].startswith("Dict[")):
            continue
        takes = f"forward() in {path} takes {len(arguments)} ({', '.join(arguments)})"
        indices = _indices(names)
        if len(names) != len(arguments):
            yield Finding(
                model.at("input"),
                f"the config has {len(names)} input{'s' if len(names) > 1 else ''} ({', '.join(names)}), and {takes}",
                f"Triton does not load the model: configuration expects {len(names)} inputs, model provides "
                f"{len(arguments)}",
                f"give each argument an input, {_INDEX.join(('INPUT', '0'))} for the first",
            )
        elif odd := next(
            (kind for kind in file.kinds or () if kind != "Tensor" and not kind.startswith("List[")), None
        ):
            yield Finding(
                model.at("input"),
                f"an argument of type {odd} has no form as a tensor: {takes}",
                f"Triton does not load the model: An input of type '{odd}' was detected in the model",
                "give forward() only tensors, lists of strings, or one dictionary of tensors",
            )
        elif indices and not set(names) <= set(arguments) and sorted(indices) != list(range(len(arguments))):
            yield Finding(
                model.at("input"),
                f"the inputs {listed(names)} are arguments {', '.join(map(str, indices))}, and {takes}",
                "an argument without a value makes every request fail",
                f"number them from 0 to {len(arguments) - 1}",
            )


@rule("forward() in TorchScript has the outputs that the config numbers", server=Server.UNTESTED)
def torchscript_outputs(model: Model) -> Iterator[Finding]:
    if model.config.HasField("sequence_batching"):
        return
    names = [each.name for each in model.config.output]
    indices = _indices(names) or list(range(len(names)))
    for path, file in _files(model):
        for number, index in enumerate(indices):
            if file.returns is not None and index >= file.returns:
                yield Finding(
                    model.at("output", number, "name"),
                    f"'{names[number]}' is output {index}, and forward() in {path} has {file.returns}, from 0",
                    "every request fails: it refers to an output index which doesn't exist",
                    "number the outputs from 0, or delete this one",
                )


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    if backend_of(model).name == "pytorch":
        for path, _ in loaded_files(model):
            file = file_of(model, path)
            if file and not file.broken and file.inputs is not None:
                yield path, file


def _indices(names: Sequence[str]) -> list[int]:
    """N of NAME__N, [] unless all names have one."""
    found = [re.fullmatch(r"[0-9]{1,6}", name.partition(_INDEX)[2]) for name in names]
    return [int(match[0]) for match in found if match] if all(found) else []
