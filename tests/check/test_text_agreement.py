"""The reader of config.pbtxt and protobuf's own agree on what is a ModelConfig."""

from __future__ import annotations

import re

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.check.configs import messages, mutated
from triton_ensembles.check.text.parsed import TextFault
from triton_ensembles.check.text.parser import parse
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
# Only warned of: Triton takes the last of two map entries, and text that is not UTF-8.
HARMLESS = {"config-map-key-twice", "config-not-utf8"}


@settings(max_examples=150, deadline=None)
@given(messages())
def test_what_is_written_is_read_back(message: Message) -> None:
    """Otherwise a correct config.pbtxt gets a fault, or the rules see another model than Triton does."""
    printed = [text_format.MessageToString(message, as_one_line=one_line) for one_line in (False, True)]
    for text in (format_config(message), *printed):
        parsed = parse(text, ModelConfig())
        assert not parsed.faults, (text, parsed.faults)
        assert parsed.message.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)


@settings(max_examples=600, deadline=None)
@given(st.one_of(mutated(CONFIG), st.text(max_size=60)))
@example("// comment\n")
def test_what_protobuf_refuses_has_a_fault(text: str) -> None:
    """Otherwise Triton may refuse a config.pbtxt that passes the checker."""
    parsed = parse(text, ModelConfig())
    if re.search(r"-[\s#]", text):  # Python refuses "- 1", the server takes it: test_text_served.py
        return
    if not {fault.rule for fault in parsed.faults} - HARMLESS:
        read = text_format.Parse(text, ModelConfig())  # must not raise
        if not parsed.faults:
            assert read.SerializeToString(deterministic=True) == parsed.message.SerializeToString(deterministic=True)


@settings(max_examples=600, deadline=None)
@given(mutated(CONFIG))
def test_what_protobuf_takes_has_no_fault(text: str) -> None:
    """Otherwise the checker refuses what Triton accepts.

    Left out is where Python's protobuf is laxer than the server's C++: test_text_served.py holds those to the server.
    """
    try:
        text_format.Parse(text, ModelConfig())
    except text_format.ParseError:
        return
    faults = [fault for fault in parse(text, ModelConfig()).faults if fault.rule not in HARMLESS]
    assert not [fault for fault in faults if not _only_in_python(fault, text)], (text, faults)


def _only_in_python(fault: TextFault, text: str) -> bool:
    """Numbers such as +1 and 1_0, spaces outside ASCII, and unknown escape sequences."""
    at = text[fault.offset :]
    return "escape sequence" in fault.message or "invisible" in fault.message or bool(re.match(r"[+]|\d+_", at))
