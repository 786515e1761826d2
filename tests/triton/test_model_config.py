"""What is known of config.pbtxt: how it is written, what its fields mean, and the files that its backends load."""

from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.triton.model_config import ModelConfig, format_config
from triton_ensembles.triton.model_config_fields import meaning_of_field, meanings, type_of_field
from triton_ensembles.triton.model_formats import GRAPHDEF, file_of


def test_the_style_is_that_of_nvidias_documentation() -> None:
    """That what is written is what was meant is in tests/checking/test_text_agreement.py."""
    config = ModelConfig(name="m", backend="python", max_batch_size=4)
    config.input.add(name="X", data_type="TYPE_FP32", dims=[-1, 3])
    config.parameters["key"].string_value = "value"
    assert format_config(config) == (
        'name: "m"\nbackend: "python"\nmax_batch_size: 4\n'
        'input [\n  {\n    name: "X"\n    data_type: TYPE_FP32\n    dims: [ -1, 3 ]\n  }\n]\n'
        'parameters {\n  key: "key"\n  value {\n    string_value: "value"\n  }\n}\n'
    )


def test_every_field_has_a_meaning_and_no_meaning_is_of_another_release() -> None:
    """Otherwise an editor shows nothing at the one field that somebody looks up."""
    waiting, fields, values = [ModelConfig.DESCRIPTOR], set[str](), set[str]()
    seen = set()
    while waiting:
        message = waiting.pop()
        seen.add(message.full_name)
        for field in message.fields:
            if not message.GetOptions().map_entry:
                fields.add(field.full_name.removeprefix("inference."))
            if field.enum_type:
                name = field.enum_type.full_name.removeprefix("inference.")
                values |= {f"{name}.{value}" for value in field.enum_type.values_by_name}
            if field.message_type and field.message_type.full_name not in seen:
                waiting.append(field.message_type)
    assert fields <= {*meanings()} <= fields | values
    name = ModelConfig.DESCRIPTOR.fields_by_name["max_batch_size"]
    assert meaning_of_field(name).endswith("Default: 0.")
    assert type_of_field(name) == "int32"


def test_engines_look_for_the_files_of_the_table() -> None:
    """Otherwise a repository that check finds right is one that the server cannot load."""
    assert {name: file for name, (file, *_) in ENGINES.items()} == {
        name: file_of(name) or GRAPHDEF.file for name in ENGINES
    }
