"""The table of meanings and the descriptor of config.pbtxt have the same fields."""

from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.model_config_fields import meaning_of_field, meanings, type_of_field


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
