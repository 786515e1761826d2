"""The command line; see __init__.py."""

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import benchmarks.many_hosts
from benchmarks.many_hosts.hosts import Host, balanced, hosts_of
from benchmarks.soak.models import name_of, write_models
from benchmarks.soak.subjects import host
from benchmarks.soak.traffic import drawn, host_clients, under_load
from benchmarks.soak.watch import Memory, memory_of
from tests.processes import wait_until

_HOSTS = 4
_SHARE = 10  # there is memory for one in ten
_UNDER_WAY = 2  # models that a host loads for others, each of which needs its memory as well


def budget_of(memory: Memory, models: float) -> int:
    """Compute what a host needs that keeps this many models while it loads others."""
    return memory.budget(models + _UNDER_WAY)


def hits(name: str, address: str, hosts: list[Host], models: list[int], clients: int) -> None:
    """Print the share of requests that found their model loaded."""
    began = time.monotonic()
    traffic = host_clients(address, models, clients).join()
    counts = [host.metrics() for host in hosts]
    found, missed = (sum(count[f"host_{key}_total"] for count in counts) for key in ("hits", "misses"))
    print(
        f"{name}: {found / (found + missed):.3f} hits of {found + missed:.0f}, {traffic.failed} failed, "
        f"{traffic.wrong} wrong, {time.monotonic() - began:.0f} s; loaded at the end "
        f"{[int(count['host_loaded_models']) for count in counts]} {dict(traffic.failures) or ''}",
        flush=True,
    )


def compare_hits(archives: Path, folder: Path, models: list[int], clients: int, memory: Memory, room: float) -> None:
    """Compare one host with memory for ``room`` models and four with a quarter of it, by the hash and by turns."""
    for name, count, by_turns in (
        ("one host", 1, False),
        ("four hosts, the hash of the name", _HOSTS, False),
        ("four hosts, round robin", _HOSTS, True),
    ):
        with (
            hosts_of(archives, folder, count, budget_of(memory, room / count)) as hosts,
            balanced(hosts, folder, round_robin=by_turns) as balancer,
        ):
            hits(name, balancer.address, hosts, models, clients)


def faults(archives: Path, folder: Path, models: list[int], clients: int, budget: int) -> None:
    """Kill, add and restart hosts under load, and print what was lost."""
    asked = itertools.cycle(models)
    joining = Host(archives, folder / "joining", "--memory-budget", str(budget), "--seconds", "300s")
    with (
        hosts_of(archives, folder, _HOSTS, budget) as hosts,
        ExitStack() as stack,
        balanced([*hosts, joining], folder) as balancer,
    ):
        stack.callback(joining.stop)

        @contextmanager
        def reported(name: str) -> Iterator[None]:
            with under_load(balancer.address, asked, clients) as traffic:
                yield
            print(f"{name}: {traffic.failed} of {traffic.answered + traffic.failed} lost, {traffic.wrong} wrong")
            for failure, count in traffic.failures.items():
                print(f"    {count} times {failure}", flush=True)

        with reported("a host killed"):
            hosts[0].kill()
        hosts[0].start()
        balancer.wait_for(_HOSTS)
        with reported("a tritonserver killed"):
            hosts[1].kill_tritonserver()
        with reported("a host added"):
            joining.start()
            balancer.wait_for(_HOSTS + 1)
        with reported("all restarted, one after the other"):
            for host in [*hosts, joining]:
                host.stop()
                host.start()
                balancer.wait_for(_HOSTS + 1)
        hot = name_of(models[0])
        with under_load(balancer.address, itertools.repeat(models[0]), clients):
            wait_until(lambda: sum(host.loaded(hot) for host in hosts) > 1)
        print(f"a hot model is on {sum(host.loaded(hot) for host in [*hosts, joining])} hosts", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=benchmarks.many_hosts.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--only", choices=("hits", "faults"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-hosts-") as temporary:
        folder = Path(temporary)
        archives = folder / "archives"
        for path in list(write_models(arguments.models, folder / "packed")):
            archives.mkdir(exist_ok=True)
            path.rename(archives / path.name)
        memory = memory_of(host, folder, sorted(archives.iterdir()))
        print(f"a server takes {memory.server >> 20} MiB, a model {memory.model / 2**20:.1f} MiB", flush=True)
        models = drawn(arguments.models, arguments.requests)
        if arguments.only != "faults":
            compare_hits(archives, folder, models, arguments.clients, memory, arguments.models / _SHARE)
        if arguments.only != "hits":
            faults(archives, folder, models, arguments.clients, budget_of(memory, arguments.models / _SHARE / _HOSTS))


if __name__ == "__main__":
    main()
