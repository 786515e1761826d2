"""Which loads begin, wait or are refused, and what is evicted for them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from triton_ensembles.sagemaker.admission import Load, LoadQueue
from triton_ensembles.sagemaker.loading import ModelSizes, kept_free

BUDGET = 1000 << 20
ROOM = BUDGET - kept_free(BUDGET)


@dataclass(eq=False)
class Model:
    hash: str
    load_bytes: int = ROOM // 4
    disk_bytes: int = 0


@dataclass
class Measured:
    """The memory of an instance: ``used`` is by its loaded models, of which ``busy`` ones are in use."""

    loaded: list[Model] = field(default_factory=list)
    busy: list[Model] = field(default_factory=list)
    extra: int = 0

    @property
    def used(self) -> int:
        return self.extra + sum(model.load_bytes for model in self.loaded)

    @property
    def has_loaded(self) -> bool:
        return bool(self.loaded)

    def idle(self) -> list[Model]:
        return [model for model in self.loaded if model not in self.busy]

    def of_load(self, model: Model) -> int:
        return 0

    def of_loaded(self, model: Model) -> int:
        return model.load_bytes


MODELS = {name: Model(name) for name in "abcdefgh"}
A, B, C, D, E, F, *_ = MODELS.values()


def queue_of(*models: Model, known: Iterable[Model] = MODELS.values()) -> LoadQueue[Model]:
    """A queue with these models in line, on two cores: so that four loads run at a time."""
    sizes = ModelSizes()
    for model in known:
        sizes.note_load(model, model.load_bytes)
    queue = LoadQueue[Model](sizes, BUDGET, 2, patience=2.0)
    queue.line.extend(map(Load, models))
    return queue


def story(queue: LoadQueue[Model], memory: Measured, now: float = 0.0) -> list[str]:
    """What follows, as "begin a", "evict b for a" and "refuse c"."""
    words = []
    for load, victim in queue.advance(memory, now):
        if victim is not None:
            words.append(f"evict {victim.hash} for {load.model.hash}")
        else:
            words.append(f"{'refuse' if load.refused else 'begin'} {load.model.hash}")
    return words


def test_loads_begin_beside_each_other_while_what_they_reserve_fits() -> None:
    queue = queue_of(A, B, C)
    assert story(queue, Measured([D])) == ["begin a", "begin b", "begin c"]
    assert all(load.beside for load in queue.loads.values())


def test_a_load_begins_when_what_was_evicted_for_it_is_gone() -> None:
    """No more is evicted than is needed, the least recently used first."""
    queue = queue_of(A)
    assert story(queue, Measured([B, C, D, E])) == ["evict b for a"]
    assert (story(queue, Measured([B, C, D, E])), queue.reason(queue.loads[A])) == ([], "memory")
    queue.unloading.remove(B)
    assert story(queue, Measured([C, D, E])) == ["begin a"]


def test_a_load_that_was_promised_room_which_others_took_evicts_more() -> None:
    queue = queue_of(A)
    story(queue, Measured([B, C, D, E]))
    queue.unloading.remove(B)
    assert story(queue, Measured([C, D, E], extra=1)) == ["evict c for a"]
    queue.unloading.remove(C)
    assert story(queue, Measured([D, E], extra=1)) == ["begin a"]


def test_where_all_models_are_in_use_a_load_waits_and_is_refused() -> None:
    queue = queue_of(A)
    busy = Measured([B, C, D, E], busy=[B, C, D, E])
    assert (story(queue, busy, now=1.0), queue.again) == ([], 3.0)
    (load,) = queue.line
    assert story(queue, busy, now=3.0) == ["refuse a"]
    assert load.refused == 5 * A.load_bytes
    assert not queue.line and not queue.loads


def test_a_model_of_unknown_size_is_tried_though_it_may_not_fit() -> None:
    """Only its load can show whether it does."""
    unknown = Model("new", disk_bytes=2 * BUDGET)
    queue = queue_of(unknown)
    busy = Measured([B], busy=[B])
    assert story(queue, busy, now=1.0) == []
    assert story(queue, busy, now=3.0) == ["begin new"]
    assert story(queue_of(unknown), Measured()) == ["begin new"]  # at once where nothing is loaded


def test_models_of_unknown_size_load_one_after_the_other() -> None:
    queue = queue_of(A, B, known=())
    assert story(queue, Measured()) == ["begin a"]
    assert queue.reason(queue.line[0]) == "other loads"
    queue.leave(queue.loads[A])
    assert story(queue, Measured([A])) == ["begin b"]


@pytest.mark.parametrize(("known", "both"), [(0, False), (1, True), (20, True)])
@pytest.mark.parametrize("used", [0, 450 << 20])
def test_guesses_run_beside_each_other_where_both_may_be_too_low(known: int, both: bool, used: int) -> None:
    """Each may take a quarter of the budget; after twenty models of one size, a guess is as good as known."""
    queue = queue_of(A, B, known=[Model(str(number), 1 << 20) for number in range(known)])
    both = both and (not used or known == 20)
    assert story(queue, Measured([C], busy=[C], extra=used)) == ["begin a", "begin b"][: 1 + both]


def test_as_many_loads_run_as_the_cores_allow() -> None:
    small = [Model(f"small{number}", 1, 1) for number in range(6)]
    queue = queue_of(*small, known=small)
    assert len(story(queue, Measured())) == 4
    assert (queue.can_advance, queue.reason(queue.line[0])) == (False, "other loads")
    queue.leave(queue.loads[small[1]])
    assert story(queue, Measured()) == ["begin small4"]


def test_more_loads_wait_for_unloads_while_they_hold_little() -> None:
    """Their unloads overlap. Otherwise a burst of cold requests would take an unload after the other."""
    small = [Model(f"small{number}", 40 << 20, 1) for number in range(9)]
    idle = [Model(f"idle{number}", 40 << 20) for number in range(24)]
    queue = queue_of(*small, known=small)
    assert story(queue, Measured(idle)) == [f"evict idle{number} for small{number}" for number in range(4)]
    assert len(queue.loads) == 4  # an eighth of the budget is 125 MiB


def test_a_load_that_is_tried_again_runs_alone() -> None:
    queue = queue_of(A)
    story(queue, Measured())
    queue.line.append(Load(B, alone=True))
    assert not queue.can_advance
    queue.leave(queue.loads[A])
    assert story(queue, Measured()) == ["begin b"]
    queue.line.append(Load(C))
    assert not queue.can_advance


def test_a_model_is_not_loaded_before_its_unload_has_ended() -> None:
    queue = queue_of(A)
    queue.unloading.add(A)
    assert (queue.can_advance, queue.reason(queue.line[0])) == (False, "its unload")
    queue.unloading.remove(A)
    assert story(queue, Measured()) == ["begin a"]


def test_a_load_that_nobody_wants_any_more_makes_room_for_the_next() -> None:
    queue = queue_of(A, B)
    queue.leave(queue.line[0])
    assert story(queue, Measured([C, D, E])) == ["begin b"]
