"""``plan``"""

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from triton_ensembles.commands.common import option_values, options, output
from triton_ensembles.commands.common.builds import timed_progress
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import TABLE_REGION, AskAws, Price, listed_price, price_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.chosen_profiles import chosen_profiles
from triton_ensembles.measuring.planning.document import document
from triton_ensembles.measuring.planning.instances import Host, host_of, machine_of
from triton_ensembles.measuring.planning.invocations import read_invocations
from triton_ensembles.measuring.planning.plan import plan as make_plan
from triton_ensembles.measuring.planning.plan import priced
from triton_ensembles.measuring.planning.plan_tables import tables
from triton_ensembles.measuring.planning.prediction import Goal
from triton_ensembles.measuring.planning.traffic import Traffic, zipf
from triton_ensembles.measuring.planning.transients import deploy as simulate_deploy


@dataclass(frozen=True)
class Asked:
    """The traffic: the values of --models, --traffic and --rate."""

    models: int | None = options.option(
        "--models",
        type=click.IntRange(1, 1_000_000),
        help="How many models there are, copies of the archives in their shares.",
    )
    traffic: str = options.option(
        "--traffic",
        metavar="zipf:ALPHA|uniform|FILE",
        default="zipf:1.1",
        help="How requests are spread over the models. FILE: a request log (CSV), which also sets models and rate.",
    )
    rate: float | None = options.option(
        "--rate",
        type=click.FloatRange(0, 1e6, min_open=True),
        callback=option_values.finite,
        help="Requests a second, for all models.",
    )

    def read(self) -> Traffic:
        """Read or make it. Raises :class:`click.UsageError` for what is missing, or said twice."""
        if known := re.fullmatch(r"uniform|zipf:(\d+(?:\.\d+)?)", self.traffic):
            if self.models is None or self.rate is None:
                raise click.UsageError(f"--traffic {self.traffic} needs --models and --rate")
            return zipf(self.models, float(known[1] or 0), self.rate)
        path = Path(self.traffic)
        if not path.is_file():
            kinds = "write zipf:1.1, uniform or the name of a file"
            raise click.UsageError(f"'{self.traffic}' is not a kind of traffic: {kinds}")
        if self.models is not None or self.rate is not None:
            message = f"{self.traffic} already defines models, rate and times"
            raise click.UsageError(f"{message}: leave out --models and --rate")
        return read_invocations(path)


_COUNTS = tuple(range(1, 9))
_USUAL = ("ml.m5.xlarge", "ml.c5.2xlarge", "ml.c5.4xlarge")  # without a GPU, as the profiles are; with known prices


@dataclass(frozen=True)
class Choices:
    """The fleets to compare: the values of --instance, --count, --hosts and --evict-ahead."""

    instance: tuple[str, ...] = options.field(
        options.setting(
            "instance",
            "An instance type, such as ml.c7i.2xlarge; may be repeated.",
            f", or else {', '.join(_USUAL)}",
            multiple=True,
        )
    )
    counts: tuple[int, ...] | None = options.option(
        "--count",
        metavar="NUMBERS",
        read=option_values.counts,
        help="Numbers of instances: 2, 1..8 or 1,2,4.  [default: those of --hosts, or 1..8]",
    )
    machines: tuple[int, ...] | None = options.option(
        "--hosts",
        metavar="NUMBERS",
        read=option_values.counts,
        help="Also plan this many machines of EC2 with `host` behind a balancer: docs/many-machines.md.",
    )
    evict_ahead: bool = options.field(options.evict_ahead)

    def fleets(self) -> Sequence[tuple[Host, Sequence[int]]]:
        """Return the instance types of SageMaker with the numbers of them, then those of EC2."""
        names = dict.fromkeys(self.instance or _USUAL)
        hosts = [replace(host_of(name), evict_ahead=self.evict_ahead) for name in names]
        endpoints = [(host, self.counts or self.machines or _COUNTS) for host in hosts]
        return endpoints + [(machine_of(host), self.machines) for host in hosts if self.machines]


@click.command()
@click.argument("profiles", nargs=-1, metavar="[PROFILE|ARCHIVE[:SHARE]]...")
@options.group("asked", Asked)
@options.group("choices", Choices)
@options.collected(
    Goal,
    "goal",
    option_values.option(
        "--p99",
        metavar="TIME",
        read=option_values.seconds,
        help="The most that the p99 latency of loaded models may be, such as 300ms.",
    ),
    option_values.option(
        "--cold",
        metavar="PERCENT",
        read=option_values.share,
        help="The most requests that may find their model not loaded, such as 1%.",
    ),
)
@click.option("--batch", type=click.IntRange(1), help="Rows in a request.  [default: the least that was profiled]")
@click.option(
    "--requests", default=100_000, type=click.IntRange(1000, 10_000_000), help="How many to simulate for the answer."
)
@click.option("--prices", type=options.FILE, help="A CSV with the columns instance, per_hour, currency and region.")
@output.quiet
@output.json_format
def plan(
    profiles: tuple[str, ...],
    asked: Asked,
    choices: Choices,
    goal: Goal,
    *,
    batch: int | None,
    requests: int,
    prices: Path | None,
) -> None:
    """Predict what a multi-model endpoint needs: instances, cold starts, latency and dollars.

    \b
      plan --models 1000 --rate 50 --instance ml.c7i.2xlarge --p99 300ms --cold 1%
      plan a.json:0.7 b.json:0.3 --models 1000 --rate 50 --instance ml.c7i.2xlarge --instance ml.m5.xlarge
      plan --traffic requests.csv --instance ml.c7i.2xlarge
      plan --models 1000 --rate 50 --hosts 2..4      also as machines of EC2 that run `host`

    PROFILE is a file that `profile` wrote, ARCHIVE one that it has measured; by default, all that it has measured for
    the project. SHARE is that of the models which are copies of it. An ensemble that was profiled drawn and fused is
    planned in both forms.

    Each choice is simulated request by request, with the local endpoint's own rules of eviction, routing and loading.
    All figures but those of the profiled machine are estimates: docs/planning.md has what they rest on. Prices are
    those of boto3's region.

    --format json: {"traffic", "models", "requests_per_second", "goal", "choices": […], "cheapest": its index,
    "dedicated": an endpoint with one instance for each model, "deploy"}
    """
    progress, spread = timed_progress("plan"), asked.read()
    archives = chosen_profiles(profiles, options.profiles_folder())
    fleets = priced(choices.fleets(), _pricing(prices), progress)
    result = make_plan(archives, spread, fleets, goal, requests, batch or 0, progress)
    deployed = simulate_deploy(result.best, spread, requests) if result.best else None
    output.document(document(result, deployed))
    output.result(tables(result, [profile for profile, _ in archives], deployed))


def _pricing(file: Path | None) -> Callable[[str], Price]:
    """The price of an instance type in boto3's region, or in that of the table where none is set."""
    ask: AskAws | None = None
    region = TABLE_REGION
    with contextlib.suppress(EnsembleError):  # no region is set
        aws = Aws()
        region = aws.region
        if aws.has_credentials:
            ask = partial(listed_price, aws)
    return lambda instance: price_of(instance, region, file, ask)
