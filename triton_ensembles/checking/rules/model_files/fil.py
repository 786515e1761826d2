"""Models of the FIL backend (XGBoost, LightGBM, scikit-learn and cuML through Treelite)."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.config_tensors import type_name
from triton_ensembles.checking.examples import io_tensor, parameter, python_model
from triton_ensembles.checking.rule import Example, Finding, Model, Server, rule
from triton_ensembles.ground.spelling import choices, listed, suggestion
from triton_ensembles.triton.model_config import DataType

SOURCE = "fil_backend r24.10 serialization.h string_to_serialization, model.h model_file, predict"
SERVER, GOOD_LOADS = Server.UNTESTED, False
_FILES = {
    "xgboost": "xgboost.model",
    "xgboost_json": "xgboost.json",
    "xgboost_ubj": "xgboost.ubj",
    "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl",
}
_TYPE, _DEFAULT = "model_type", "xgboost"
_INPUT = "input__0"


def _example(type: str = "xgboost_json", file: str = "xgboost.json", input: str = _INPUT) -> Example:
    output, backend = io_tensor("output__0", dims="1"), 'backend: "fil"'
    config = python_model(parameter(_TYPE, type), inputs=io_tensor(input), outputs=output, backend=backend)
    return Example(config, {f"1/{file}": "{}"})


GOOD = _example()


@rule("The model_type of a FIL model is one that the backend knows", bad=_example("xgb_json"))
def fil_model_type(model: Model) -> Iterator[Finding]:
    if model.backend.name == "fil" and (type := _type(model)) not in _FILES:
        message = f"'{type}' is no {_TYPE} of the FIL backend"
        effect = f"Triton refuses it: {type} not recognized as a valid serialization format."
        cure = suggestion(type, _FILES, 'write string_value: "{}"') or f"it is one of {choices(_FILES)}"
        yield Finding(model.at("parameters", _TYPE, "value", "string_value"), message, effect, cure)


@rule("The version folder of a FIL model has the file of its model_type", bad=_example(file="model.json"))
def fil_model_file(model: Model) -> Iterator[Finding]:
    if not model.has_config or model.backend.name != "fil" or model.config.default_model_filename:
        return
    if (type := _type(model)) not in _FILES or model.is_version_made:
        return
    for number in model.served_versions:
        folder = model.versions[number]
        if not model.get(join(folder, _FILES[type])):
            there = {name: kind for kind, name in _FILES.items() if model.get(join(folder, name))}
            present = next(iter(there), "")
            message = f"version {number} has no {_FILES[type]}, the file of {_TYPE} {type}"
            cure = f"call the model's file {_FILES[type]}, or name it with default_model_filename"
            cure = f'write {_TYPE} "{there[present]}" for {present}' if present else cure
            yield Finding(model.place(folder), message, "Triton does not load the model", cure)


@rule("The input of a FIL model is input__0 of TYPE_FP32", bad=_example(input="X"))
def fil_input(model: Model) -> Iterator[Finding]:
    if model.backend.name != "fil" or not model.config.input:
        return
    types = {tensor.name: tensor.data_type for tensor in model.config.input}
    if _INPUT not in types:
        message = f"the FIL backend reads {_INPUT}, and this model has {listed(types)}"
        effect = "every request fails: the backend does not find its input"
        yield Finding(model.at("input", 0, "name"), message, effect, f'write name: "{_INPUT}"')
    elif types[_INPUT] not in (DataType.TYPE_FP32, DataType.TYPE_INVALID):
        message = f"{_INPUT} is {type_name(types[_INPUT])}, and the FIL backend reads TYPE_FP32"
        effect = "every request fails: the backend does not read another type"
        cure = "write data_type: TYPE_FP32"
        yield Finding(model.at("input", list(types).index(_INPUT), "data_type"), message, effect, cure)


def _type(model: Model) -> str:
    parameters = model.config.parameters
    return str(parameters[_TYPE].string_value) if _TYPE in parameters else _DEFAULT
