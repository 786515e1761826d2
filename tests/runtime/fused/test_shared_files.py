"""Equal files of the ensembles of a multi-model endpoint, on the real server with SageMaker's routes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.fused.endpoint import Endpoint, RefusedError, multi_model_endpoint
from tests.runtime.fused.test_faults import ECHO

WEIGHTS = Path("steps/first/1/weights.bin")
SIZE = 3_000_000


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with multi_model_endpoint(tmp_path_factory.mktemp("shared")) as endpoint:
        yield endpoint


def test_equal_files_are_one(endpoint: Endpoint) -> None:
    """Otherwise a thousand variants of one pipeline would each take the memory of its libraries and weights."""
    fills = {"a": 1, "b": 1, "c": 2}
    one, same, other = (endpoint.stage(name, bytes([fill]) * SIZE, first=ECHO) for name, fill in fills.items())
    for name in "abc":
        endpoint.load(name)
    assert (same / WEIGHTS).samefile(one / WEIGHTS)
    assert not (other / WEIGHTS).samefile(one / WEIGHTS)
    assert (other / WEIGHTS).read_bytes() == bytes([2]) * SIZE
    assert {path.name for path in (same / WEIGHTS).parent.iterdir()} >= {"model.py", "weights.bin"}
    assert not list(same.rglob(".*"))
    (one / WEIGHTS).unlink()  # as when the first is evicted
    assert [endpoint.answer(name) for name in "abc"] == [[2, 3]] * 3


def test_a_damaged_file_is_not_taken_over(endpoint: Endpoint) -> None:
    """Otherwise one damaged archive would make others fail."""
    damaged, whole = (endpoint.stage(name, bytes([3]) * SIZE, first=ECHO) for name in ("damaged", "whole"))
    endpoint.load("damaged")
    (damaged / WEIGHTS).write_bytes(bytes(SIZE))
    endpoint.load("whole")
    assert (whole / WEIGHTS).read_bytes() == bytes([3]) * SIZE
    assert endpoint.answer("whole") == [2, 3]


def test_a_damaged_file_of_its_own_is_not_replaced_unseen(endpoint: Endpoint) -> None:
    """What is linked is what the plan says; what is not is still compared with it."""
    endpoint.stage("proven", bytes([4]) * SIZE, first=ECHO)
    own = endpoint.stage("own", bytes([5]) * SIZE, first=ECHO)
    (own / WEIGHTS).write_bytes(bytes([4]) * SIZE)
    endpoint.load("proven")
    with pytest.raises(RefusedError) as caught:
        endpoint.load("own")
    assert "weights.bin is damaged" in str(caught.value)
