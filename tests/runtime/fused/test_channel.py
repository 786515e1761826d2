"""Messages between the stub and the worker arrive as they were sent."""

import os
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from triton_ensembles.runtime.fused import messages
from triton_ensembles.runtime.fused.channel import make_channel
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question

any_array = arrays.arrays(
    st.sampled_from(["bool", "int8", "uint64", "float16", "float64"]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
texts = st.lists(st.binary(max_size=9)).map(lambda items: np.array([*items, None], dtype=object)[:-1])
plain = st.none() | st.text() | st.binary(max_size=9) | st.integers() | st.lists(st.text(), max_size=2).map(tuple)


@given(st.lists(st.tuples(plain, st.lists(any_array | texts, max_size=4)), max_size=5))
def test_a_message_arrives_as_it_was_sent(sent_messages: list[tuple[object, list[np.ndarray]]]) -> None:
    sender, receiver = make_channel()
    try:
        for values, sent in sent_messages:
            sender.send(values, sent)
            assert receiver.poll(0)
            found_values, found = receiver.receive()
            assert found_values == values and len(found) == len(sent)
            for array, expected in zip(found, sent, strict=True):
                assert array.dtype == expected.dtype and array.shape == expected.shape
                assert array.tobytes() == expected.tobytes() or array.tolist() == expected.tolist()
    finally:
        sender.close()
        receiver.close()


questions = st.builds(
    Question,
    id=st.text(),
    correlation_id=st.integers(0, 2**64 - 1) | st.text(),
    flags=st.integers(0, 3),
    timeout=st.integers(0, 2**63),
    parameters=st.just("{}"),
    inputs=st.dictionaries(st.text(), any_array, max_size=3),
    wanted=st.lists(st.text(), max_size=3).map(tuple),
)
answers = st.dictionaries(st.text(), any_array, max_size=3) | st.builds(Failure, st.text(), st.text())


@given(st.lists(questions, max_size=4), st.lists(answers, max_size=4))
def test_requests_and_answers_keep_their_own_arrays(asked: list[Question], answered: list[Answer]) -> None:
    """Otherwise a batch would mix the requests of several clients."""
    for found, expected in zip(messages.read_questions(*messages.written_questions(asked)), asked, strict=True):
        assert found[:5] == expected[:5] and found.wanted == expected.wanted
        assert_same(found.inputs, expected.inputs)
    for answer, sent in zip(messages.read_answers(*messages.written_answers(answered)), answered, strict=True):
        if isinstance(sent, Failure):
            assert answer == sent
        else:
            assert not isinstance(answer, Failure)
            assert_same(answer, sent)


def assert_same(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    assert all(found[name] is expected[name] for name in expected)


def test_memory_of_a_large_message_is_given_back() -> None:
    """Otherwise one large request costs its memory twice for as long as the model is loaded."""
    sender, receiver = make_channel()
    for size in (10, 40_000_000, 10, 50_000_000, 3):
        array = np.arange(size, dtype=np.uint8)
        sender.send(None, [array])
        assert np.array_equal(receiver.receive()[1][0], array)
        assert os.fstat(sender.descriptor).st_size <= max(2 * size + 4096, 1 << 24)
    sender.close()
    receiver.close()


def test_the_end_of_the_other_process_is_noticed() -> None:
    sender, receiver = make_channel()
    sender.close()
    with pytest.raises(EOFError):
        receiver.receive()
    receiver.close()
