"""Messages between the stub and the worker arrive as they were sent."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from triton_ensembles.fused.channel import make_channel

any_array = arrays.arrays(
    st.sampled_from(["bool", "int8", "uint64", "float16", "float64"]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
texts = st.lists(st.binary(max_size=9)).map(lambda items: np.array([*items, None], dtype=object)[:-1])


@given(st.lists(st.dictionaries(st.text(), any_array | texts | st.text(), max_size=4), max_size=5))
def test_a_message_arrives_as_it_was_sent(messages: list[dict[str, object]]) -> None:
    sender, receiver = make_channel()
    try:
        for message in messages:
            sender.send(message)
            assert receiver.poll(0)
            found = receiver.receive()
            assert found.keys() == message.keys()
            for name, value in message.items():
                if isinstance(value, np.ndarray):
                    assert found[name].dtype == value.dtype and found[name].shape == value.shape
                    assert found[name].tobytes() == value.tobytes() or found[name].tolist() == value.tolist()
                else:
                    assert found[name] == value
    finally:
        sender.close()
        receiver.close()


def test_memory_of_a_large_message_is_given_back() -> None:
    """Otherwise one large request costs its memory twice for as long as the model is loaded."""
    sender, receiver = make_channel()
    for size in (10, 40_000_000, 10, 50_000_000, 3):
        array = np.arange(size, dtype=np.uint8)
        sender.send([array])
        assert np.array_equal(receiver.receive()[0], array)
        assert os.fstat(sender.descriptor).st_size <= max(2 * size + 4096, 1 << 24)
    sender.close()
    receiver.close()


def test_the_end_of_the_other_process_is_noticed() -> None:
    sender, receiver = make_channel()
    sender.close()
    with pytest.raises(EOFError):
        receiver.receive()
    receiver.close()
