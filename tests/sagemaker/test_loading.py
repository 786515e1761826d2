"""The rules of loading, which the endpoint and the simulation of plan share."""

from dataclasses import dataclass

import pytest

from triton_ensembles.sagemaker.loading import ModelSizes, Unloads, kept_free

MIB = 1 << 20


@dataclass
class Sized:
    hash: str
    disk_bytes: int = 10 * MIB
    load_bytes: int = 0


def sizes_of(*taken: int) -> ModelSizes:
    sizes = ModelSizes()
    for number, size in enumerate(taken):
        sizes.note_load(Sized(str(number)), size)
    return sizes


def test_an_unknown_model_is_taken_for_the_largest_so_far_and_a_known_one_for_what_it_took() -> None:
    sizes, model = sizes_of(30 * MIB, 20 * MIB), Sized("new")
    assert sizes.expected(Sized("unpacked", disk_bytes=40 * MIB)) == 40 * MIB
    assert (sizes.expected(model), sizes.known(model), sizes.count) == (30 * MIB, False, 2)
    sizes.note_load(model, 15 * MIB)
    sizes.note_growth(model, 18 * MIB)
    sizes.note_growth(model, 16 * MIB)
    assert (sizes.expected(model), model.load_bytes, sizes.count) == (18 * MIB, 16 * MIB, 3)
    sizes.note_load(Sized("0"), 5 * MIB)  # it was the largest
    assert sizes.expected(Sized("other")) == 20 * MIB


def test_many_models_are_alike_though_one_is_larger() -> None:
    assert sizes_of(900, *[100] * 39).alike
    assert not sizes_of(*[100] * 19).alike
    assert not sizes_of(*[100] * 30, *[300] * 10).alike


def test_a_share_of_the_budget_stays_free() -> None:
    assert (kept_free(64 * 100 * MIB), kept_free(100)) == (100 * MIB, 4 * MIB)


def test_unloads_overlap_that_begin_soon_after_the_first() -> None:
    """Others wait until these have certainly read the list of repositories and ended, or all that run have ended."""
    unloads = Unloads()
    assert unloads.pause(10.0) == 0
    unloads.begin(10.0)
    assert unloads.pause(10.2) == 0
    unloads.begin(10.2)
    assert unloads.pause(10.5) == pytest.approx(0.75)
    assert unloads.pause(11.25) <= 0
    unloads.end()
    assert unloads.pause(10.5) == pytest.approx(0.75)
    unloads.end()
    assert (unloads.pause(10.5), unloads.running) == (0, 0)
