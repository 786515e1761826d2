"""``export``: files for what runs and balances many hosts."""

from dataclasses import replace
from pathlib import Path

import click

from triton_ensembles.commands.common import hosting_options, option_values, options, output
from triton_ensembles.commands.common.option_rules import excludes, needs
from triton_ensembles.fleet.haproxy import Balancer, haproxy_config
from triton_ensembles.fleet.kubernetes import TARGET_UTILIZATION, Fleet, manifests
from triton_ensembles.measuring.planning.chosen_profiles import chosen_profiles
from triton_ensembles.measuring.planning.demand import memory_of
from triton_ensembles.server.ports import LOOPBACK, Ports


@click.group()
def export() -> None:
    """Write the files with which stock programs run many hosts: see docs/many-machines.md.

    \b
      export haproxy 10.0.0.7:8000 10.0.0.8:8000 -o haproxy.cfg
      export kubernetes models s3://bucket/models --image REGISTRY/host:1 | kubectl apply -f -
    """


_seconds = option_values.option(
    "--seconds", metavar="TIME", default="60s", read=option_values.seconds, help="The --seconds of the hosts."
)
_balance_factor = click.option(
    "--balance-factor",
    type=click.IntRange(0, 10_000),
    default=250,
    help="HAProxy's hash-balance-factor: beyond this percentage of its fair share of the requests under way, a host "
    "passes them on to the next one, which loads the model as well. 0: never.",
)


@export.command()
@click.argument("hosts", nargs=-1, required=True, metavar="HOST:PORT...")
@options.collected(
    Balancer,
    "balancer",
    click.option("--bind", metavar="ADDRESS", default=LOOPBACK, help="Where clients reach it; *: at every address."),
    click.option("--http-port", type=click.IntRange(1, 65535), default=Ports.http, help="KServe v2 over HTTP."),
    click.option("--metrics-port", type=click.IntRange(1, 65535), default=8405, help="HAProxy's metrics: /metrics."),
    _seconds,
    _balance_factor,
)
@output.file
def haproxy(hosts: tuple[str, ...], balancer: Balancer, file: Path | None) -> None:
    """Write the config of HAProxy (2.8 or newer) before these hosts.

    Each model's requests go to the host that the consistent hash of its name gives, with bounded loads, so that the
    memory of all hosts holds different models. Hosts are asked for /v2/health/ready each second, and requests that met
    no connection are sent to another one.

    \b
      export haproxy 10.0.0.7:8000 10.0.0.8:8000 -o haproxy.cfg && haproxy -f haproxy.cfg
    """
    output.write(haproxy_config(balancer, hosts), file)


@export.command()
@click.argument("name")
@click.argument("source", metavar="s3://BUCKET/PREFIX")
@click.argument("more", nargs=-1, metavar="[-- OPTIONS OF HOST]")
@excludes("--profile", "--memory-budget", because="the budget follows from it")
@needs("--profile", "--loaded", because="the budget is for so many copies")
@needs("--loaded", "--profile")
@needs("--rate", "--profile")
@excludes("--rate", "--cpus", because="they follow from it")
@options.collected(
    Fleet,
    "fleet",
    click.option("--image", required=True, help="An image with triton-ensembles[serve] and tritonserver in it."),
    click.option("--balancer-image", default="haproxy:3.2", help="HAProxy 3.0 or newer."),
    click.option("--hosts", type=click.IntRange(1, 1000), default=2, help="The least number of hosts."),
    click.option("--most-hosts", type=click.IntRange(1, 1000), default=8, help="The largest number of hosts."),
    click.option("--cpus", type=click.FloatRange(0.1, 1000), default=4.0, help="Processors of each host."),
    hosting_options.memory_budget("Of each host; the pod's limit is a tenth and 1 GiB more."),
    hosting_options.disk_budget("Of each host; the pod's limit is 4 GiB more."),
    click.option("--service-account", default="", show_default=False, help="Its role reads the prefix."),
    click.option("--token-secret", default="", show_default=False, help="Clients send its key `token`; see host."),
    _seconds,
    _balance_factor,
)
@click.option("--profile", metavar="PROFILE|ARCHIVE", help="Compute the memory budget from what profile has measured.")
@click.option("--loaded", type=click.IntRange(1), help="How many copies of it a host has room for.")
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="Compute --cpus: requests a second of it that a host answers.",
)
@output.file
def kubernetes(fleet: Fleet, profile: str | None, loaded: int | None, rate: float | None, file: Path | None) -> None:
    """Write manifests: hosts of the archives below an S3 prefix, and HAProxy before them as the Service NAME.

    Deployment, headless Service, HorizontalPodAutoscaler and PodDisruptionBudget of the hosts; Deployment, Service,
    ConfigMap and PodDisruptionBudget of the balancer.

    \b
      export kubernetes models s3://bucket/models --image REGISTRY/host:1 | kubectl apply -f -
      export kubernetes models s3://bucket/models --image REGISTRY/host:1 --profile a.json --loaded 50 --rate 20
      export kubernetes models s3://bucket/models --image REGISTRY/host:1 -- --server /opt/tritonserver
    """
    if profile is not None and loaded is not None:
        ((measured, _),) = chosen_profiles((profile,), options.profiles_folder())
        copy, shared = memory_of(measured)
        fleet = replace(fleet, memory_budget=round(measured.server.bytes + shared + loaded * copy))
        if rate is not None:  # at which the autoscaler starts no further host
            cpus = rate * min(answers.core_seconds for answers in measured.answers) / TARGET_UTILIZATION
            fleet = replace(fleet, cpus=max(0.1, cpus))
    output.write(manifests(fleet), file)
