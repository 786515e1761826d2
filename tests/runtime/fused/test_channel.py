"""Messages between the stub and the worker arrive as they were sent."""

import os

import numpy as np

from triton_ensembles.runtime.fused.channel import make_channel


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
