"""The reader of config.pbtxt and protobuf's own agree on what is a ModelConfig."""

import re

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.checking.configs import commented, messages, mutated, words
from triton_ensembles.checking.text.parsed import HARMLESS, TextFault
from triton_ensembles.checking.text.parser import parse
from triton_ensembles.checking.text.template import in_quotes
from triton_ensembles.triton.model_config import ModelConfig, format_config

# protobuf reads some of the odd escape sequences that hypothesis makes, and Python warns of them.
pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence")

CONFIG = """\
name: "scale"
backend: 'python'
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 4, -1 ] }, { name: "Z", data_type: TYPE_INT64, dims: 1; dims: 2 } ]
output < name: "Y" data_type: TYPE_FP32 dims: [ ] >
parameters { key: "a" value { string_value: "b\\n" "c" } }
sequence_batching { direct { minimum_slot_utilization: 1.5e-1 } }
"""


@settings(max_examples=100)
@given(messages().map(text_format.MessageToString))
@example('default_model_filename: "0"\nruntime: "#"\n')
@example('name: "%A%"\n')
@example("sequence_batching { control_input { control { fp32_false_true: inf } } }")
def test_what_is_written_is_read_back(text: str) -> None:
    """Otherwise a correct config.pbtxt gets a fault, or the rules see another model than Triton does."""
    message = text_format.Parse(text, ModelConfig())
    assert text_format.Parse(format_config(message), ModelConfig()) == message
    for form in (text, format_config(message), text_format.MessageToString(message, as_one_line=True)):
        assert_read(form, message)


@settings(max_examples=100)
@given(messages().map(text_format.MessageToString).flatmap(commented))
@example('name: "scale" # 5"\ndynamic_batching {# defaults #}\n}\n')
@example("sequence_batching { control_input { control { fp32_false_true:\n[inf]\n} } }")
@example("sequence_batching { control_input { control { bool_false_true:\n[f]\n} } }")
def test_comments_and_lines_change_nothing(text: str) -> None:
    """Otherwise a remark in a config.pbtxt makes it a template, or another format."""
    assert_read(text, text_format.Parse(text, ModelConfig()))


def assert_read(text: str, message: Message) -> None:
    parsed = parse(text, ModelConfig())
    if any(in_quotes(word) for word in words(message)):  # which may name what the server does not find
        assert {fault.rule for fault in parsed.faults} <= {*HARMLESS, "config-template"}, (text, parsed.faults)
    else:
        assert not parsed.refused, (text, parsed.faults)
    if not parsed.faults:
        assert parsed.message.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)


@settings(max_examples=300)
@given(st.one_of(mutated(CONFIG), st.text(max_size=60)))
@example("// comment\n")
def test_what_protobuf_refuses_has_a_fault_and_nothing_else_has_one(text: str) -> None:
    """Otherwise Triton may refuse a config.pbtxt that passes the checker, or the checker what Triton accepts. Left out
    is where Python's protobuf is laxer than C++'s, and a blank behind a minus, which the server takes: cases/."""
    parsed = parse(text, ModelConfig())
    faults = [fault for fault in parsed.faults if fault.rule not in HARMLESS]
    try:
        read = text_format.Parse(text, ModelConfig())
    except text_format.ParseError:
        assert faults or re.search(r"-[\s#]", text), text
        return
    assert not [fault for fault in faults if not _only_in_python(fault, text)], (text, faults)
    if not parsed.faults:
        assert read.SerializeToString(deterministic=True) == parsed.message.SerializeToString(deterministic=True)


def _only_in_python(fault: TextFault, text: str) -> bool:
    """Numbers such as +1 and 1_0, spaces outside ASCII, and unknown escape sequences."""
    at = text[fault.offset :]
    return "escape sequence" in fault.message or "invisible" in fault.message or bool(re.match(r"[+]|\d+_", at))
