"""The simulation, against theory, against tables that were simulated elsewhere, and against the endpoint's rules."""

import re
from typing import Any

import numpy as np
import pytest

from tests.measuring.planning.synthetic import MIB, profile
from triton_ensembles.measuring.planning.demand import memory_of
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.prediction import Prediction
from triton_ensembles.measuring.planning.simulation import Simulated, divide, simulate
from triton_ensembles.measuring.planning.traffic import Recorded, Traffic, drawn, sample, zipf
from triton_ensembles.measuring.planning.workload import Shares, workload
from triton_ensembles.measuring.profiling.profile import Profile

GIB = 1 << 30
INSTANT = profile(load=1e-6, load_cores=0.0, answer=1e-4, core=1e-6)
MIXED = [(profile(name=str(size), memory=size, load=1e-6, load_cores=0.0), 1.0) for size in (100, 254, 546, 1000)]
# Hit ratios of 1000 models by Zipf's exponent and GiB: 200 000 requests, simulated by a plain LRU in bytes.
SIMULATED = [
    ([(INSTANT, 1.0)], 0.6, {12: 0.122, 28: 0.239, 56: 0.393}),
    ([(INSTANT, 1.0)], 0.8, {12: 0.255, 28: 0.399, 56: 0.550}),
    ([(INSTANT, 1.0)], 1.0, {12: 0.453, 28: 0.595, 56: 0.717}),
    ([(INSTANT, 1.0)], 1.2, {12: 0.658, 28: 0.771, 56: 0.853}),
    (MIXED, 1.0, {12: 0.348, 28: 0.487, 56: 0.606}),
]


def simulated(profiles: Shares, traffic: Traffic, host: Host, requests: int = 20_000) -> Prediction:
    return simulate(workload(profiles, traffic, host), host, 1, drawn(traffic, requests)).prediction


def of_one(
    one: Profile, traffic: Traffic, host: Host, requests: int | Recorded, count: int = 1, **options: Any
) -> Simulated:
    """Copies of one archive, asked so many times or as recorded."""
    recorded = drawn(traffic, requests) if isinstance(requests, int) else requests
    return simulate(workload([(one, 1.0)], traffic, host), host, count, recorded, **options)


@pytest.mark.parametrize(("profiles", "alpha", "hits"), SIMULATED)
def test_hit_ratios_are_those_of_a_plain_simulation(profiles: Shares, alpha: float, hits: dict[int, float]) -> None:
    """Otherwise the planner would be wrong even where loads take no time. Its start is that of a memory that has been
    used for long: no warm-up is needed to see the steady state."""
    cold = {gib: simulated(profiles, zipf(1000, alpha, 5), Host("x", 64, gib * GIB)).cold for gib in hits}
    assert {gib: 1 - share for gib, share in cold.items()} == pytest.approx(hits, abs=0.015)


def test_every_copy_may_keep_what_a_large_batch_left() -> None:
    """Otherwise as many are planned as fit before a day's worst request."""
    assert memory_of(profile(memory=100, shared=50, kept=20)) == (120 * MIB, 50 * MIB)


def test_waits_for_cores_are_those_of_a_queue() -> None:
    """Against M/G/1 with processor sharing: jobs of 10 ms at 80 a second take 50 ms on average."""
    one = profile(memory=10, answer=0.01, core=0.01, lanes=1, cores=1)
    found = of_one(one, zipf(400, 0.0, 80), Host("x", 1, 64 * GIB), 60_000)
    assert found.seconds.mean() == pytest.approx(0.05, rel=0.1)
    assert found.prediction.cores == pytest.approx(0.8, abs=0.01)


def test_the_first_answer_after_a_load_is_part_of_a_cold_start() -> None:
    """A network is planned at it, so that it may take longer than the load."""
    traffic, host = zipf(100, 1.1, 4), Host("x", 8, 8 * GIB)
    for first in (0.01, 2.0):
        found = simulated([(profile(load=1, load_cores=0.3, answer=0.01, core=0.005, first=first), 1.0)], traffic, host)
        assert found.cold > 0.1 and found.every and found.warm
        assert found.every.p95 == pytest.approx(1.0 + first, abs=0.15)
        assert found.warm.p50 < 0.02


def test_room_that_is_made_ahead_of_need_takes_the_unload_off_a_cold_start() -> None:
    """The option of the local endpoint of the same name: it costs a loaded model, and a cold request a second less."""
    slow = profile(load=0.4, load_cores=0.1, unload=1.0)
    traffic = zipf(100, 1.1, 0.3)
    on_demand, ahead = (
        simulated([(slow, 1.0)], traffic, Host("x", 8, 8 * GIB, evict_ahead=option)) for option in (False, True)
    )
    assert on_demand.every and ahead.every
    assert on_demand.every.p95 == pytest.approx(1.4, abs=0.1)
    assert ahead.every.p95 == pytest.approx(0.4, abs=0.1)
    assert on_demand.resident - 1.1 < ahead.resident < on_demand.resident - 0.5
    assert on_demand.cold < ahead.cold < on_demand.cold + 0.03


def test_a_model_requested_more_often_than_it_answers_has_an_endless_queue() -> None:
    """Its one instance group answers 100 a second, whatever other cores are idle."""
    one = profile(memory=10, answer=0.01, core=0.005)
    found = simulated([(one, 1.0)], zipf(2, 0.0, 250), Host("x", 16, GIB))
    assert found.overload.startswith("the model requested most often would be busy 1.25 times the time there is")
    assert found.warm is found.every is None


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (Host("x", 8, 14 * GIB), r"it thrashes: loads take 6\.\d of 8 cores of an instance, answers the others"),
        (Host("x", 64, 14 * GIB, disk_rate=50 * MIB), "it thrashes: the disk of an instance has no time for more"),
        (Host("x", 1, 500 * GIB), r"answers alone would take 1\.1 of 1 cores of an instance"),
    ],
)
def test_a_choice_that_does_not_keep_up_has_a_reason_and_no_latency(host: Host, reason: str) -> None:
    one = profile(load=1, load_cores=0.9, answer=0.02, core=0.022, unload=0.3)
    found = simulated([(one, 1.0)], zipf(1000, 1.1, 50), host)
    assert re.match(reason, found.overload), found
    assert found.warm is found.every is None


def test_a_small_disk_means_downloads_again() -> None:
    profiles, traffic = [(profile(load=0.1, load_cores=0.05, unpacked=100), 1.0)], zipf(500, 0.8, 3)
    assert simulated(profiles, traffic, Host("x", 8, 8 * GIB, disk_bytes=20 * GIB)).fetches > 0.1
    assert simulated(profiles, traffic, Host("x", 8, 8 * GIB)).fetches == 0


def test_requests_that_wait_too_long_for_their_model_are_refused() -> None:
    """As ModelNotReadyException after 60 s, which CloudWatch does not count as answered in time."""
    found = of_one(profile(load=100, load_cores=1), zipf(4, 0.0, 1), Host("x", 8, 8 * GIB), 300, empty=True)
    assert 0.1 < found.prediction.not_ready < 0.5
    assert not np.isfinite(found.seconds[found.times < 20]).any()
    assert np.isfinite(found.seconds[found.times > 200]).all()


def test_a_deploy_begins_cold_and_loads_whose_size_is_a_guess_run_alone() -> None:
    """Of the first models nothing is known but their bytes on the disk: as the endpoint does it."""
    one, traffic, host = profile(load=1.0, load_cores=0.1, unpack=0.1), zipf(20, 0.0, 10), Host("x", 8, 6 * GIB)
    cold = of_one(one, traffic, host, 2_000, empty=True)
    assert of_one(one, traffic, host, 2_000).prediction.cold == 0
    assert cold.prediction.fetches * 2_000 == 20
    assert cold.cold[cold.times < 5].mean() > 0.5
    assert not cold.cold[cold.times > 60].any()


def test_models_that_are_asked_seldom_answer_as_after_a_rest() -> None:
    """Otherwise the planned p50 of a thousand seldom asked models is that of one which is asked without a pause."""
    one, host = [(profile(answer=0.01, rested=0.03), 1.0)], Host("x", 4, 200 * GIB)
    for models, rate, expected in ((300, 30.0, 0.03), (3, 30.0, 0.01)):
        found = simulated(one, zipf(models, 0, rate), host, requests=5_000)
        assert found.warm is not None
        assert found.warm.p50 == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    ("memory", "times", "models", "seconds"),
    [
        (500, [0.0, 10.0, 11.0, 20.0], [0, 1, 0, 0], [0.5, 0.01]),  # beside the load of model 1, and after it
        (250, [0.0, 10.0, 20.0, 21.0], [0, 1, 2, 1], [6.01, 0.5]),  # beside the unload of model 0
    ],
    ids=["load", "unload"],
)
def test_answers_beside_a_load_or_an_unload_take_as_long_as_was_measured(
    memory: int, times: list[float], models: list[int], seconds: list[float]
) -> None:
    one = profile(memory=100, unpack=0, load=2.0, load_cores=0, unload=4.0, answer=0.01, beside=0.5, core=0.001)
    recorded = Recorded(np.array(times), np.array(models))
    found = of_one(one, zipf(3, 0, 9), Host("x", 8, memory * MIB), recorded, empty=True)
    assert found.seconds.tolist()[2:] == pytest.approx(seconds, abs=0.01)


def test_four_of_five_measurements_fall_into_the_range() -> None:
    """Of runs that nobody knows before, with arrivals and services of their own."""
    traffic, host = zipf(60, 1.0, 20), Host("x", 4, 20 * 254 * MIB)
    one = profile(load=0.2, load_cores=0.1, unload=0.1)
    ranges = of_one(one, traffic, host, 100_000).prediction.ranges
    assert ranges is not None and ranges.requests == 1000
    inside = []
    for seed in range(60):
        random = np.random.default_rng(1000 + seed)
        times, models = (
            random.exponential(1 / 20, 1111).cumsum(),
            random.choice(60, 1111, p=traffic.rates / traffic.rate),
        )
        found = of_one(one, traffic, host, Recorded(times, models), seed=seed)
        figures = ((ranges.cold, found.cold.mean()), (ranges.every[2], np.percentile(found.seconds, 99)))
        inside.append([low <= value <= high for (low, high), value in figures])
    assert (np.array(inside).mean(axis=0) > 0.65).all() and (np.array(inside).mean(axis=0) < 0.95).all()


def test_the_busiest_time_of_a_recording_is_simulated() -> None:
    times = np.concatenate([np.arange(100) * 10.0, 1000 + np.arange(100) * 0.1])
    traffic = Traffic(np.array([200 / 1010]), recorded=Recorded(times, np.zeros(200, dtype=np.int64)))
    busiest = sample(traffic, 50)
    assert len(busiest.requests.times) == 50
    assert busiest.requests.times[-1] == pytest.approx(4.9)
    assert busiest.factor == pytest.approx(10 / traffic.rate, rel=0.01)
    assert busiest.times(2).requests.times[-1] == pytest.approx(2.45)
    assert len(sample(traffic, 1000).requests.times) == 200


def test_instances_share_models_as_the_endpoint_routes_them() -> None:
    """A model stays where it was loaded first, and new ones go where there are fewest: so all instances have some."""
    found = of_one(profile(load=0.2), zipf(40, 0.5, 5), Host("x", 4, 3 * GIB), 3_000, count=4, empty=True)
    assert found.prediction.fetches * 3_000 == 40  # on one instance each, not on four
    assert found.prediction.resident > 30


def test_hosts_behind_a_balancer_hit_as_often_as_haproxys_did() -> None:
    """Against 500 requests of 300 models to real hosts behind HAProxy, from cold (docs/many-machines.md), where each
    had memory for two loads beside its models: one host hit 0.536, four with a fourth of the memory 0.522."""
    for hosts, models, hits in ((1, 30, 0.536), (4, 7.5, 0.522)):
        host = Host("x", 8, round((models + 2) * 21 * MIB), by_hash=True)
        one = profile(memory=21, load=0.1, load_cores=0.05, unpack=0.05)
        found = of_one(one, zipf(300, 1.1, 2), host, 500, count=hosts, empty=True)
        assert 1 - found.cold.mean() == pytest.approx(hits, abs=0.05)


def test_a_host_has_its_models_however_busy_it_is() -> None:
    """The balancer asks nobody where there is room. So hosts have unequal shares, and no model is on two of them."""
    one, traffic = profile(load=0.2), zipf(200, 0.0, 20)
    found = of_one(one, traffic, Host("x", 4, 100 * GIB, by_hash=True), 4_000, count=4, empty=True)
    assert found.prediction.fetches * 4_000 == 200
    shares = np.bincount(divide(20_000, 4)) / 20_000
    assert shares.max() > 1.1 * shares.min()
