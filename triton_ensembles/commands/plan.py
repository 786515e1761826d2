"""``plan``"""

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from triton_ensembles.commands.common import option_values, options, output, request_options
from triton_ensembles.commands.common.builds import timed_progress
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import TABLE_REGION, AskAws, Price, hosting_price, price_of
from triton_ensembles.deploy.resource_names import check_endpoint_name
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.chosen_profiles import chosen_profiles
from triton_ensembles.measuring.planning.document import document, observed_document
from triton_ensembles.measuring.planning.instances import host_of
from triton_ensembles.measuring.planning.invocations import read_invocations
from triton_ensembles.measuring.planning.observed import observe
from triton_ensembles.measuring.planning.plan import plan as make_plan
from triton_ensembles.measuring.planning.prediction import Goal
from triton_ensembles.measuring.planning.table import tables
from triton_ensembles.measuring.planning.traffic import Traffic, read_day, zipf
from triton_ensembles.measuring.planning.transients import burst as simulate_burst
from triton_ensembles.measuring.planning.transients import deploy as simulate_deploy


@click.command()
@click.argument("profiles", nargs=-1, metavar="[PROFILE|ARCHIVE[:SHARE]]...")
@click.option(
    "--models",
    type=click.IntRange(1, 1_000_000),
    help="How many models there are, copies of the archives in their shares.",
)
@click.option(
    "--traffic",
    metavar="zipf:ALPHA|uniform|FILE",
    default="zipf:1.1",
    help="How requests are spread over the models. FILE: a request log (CSV or JSON lines), which also sets models and "
    "rate.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, 1e6, min_open=True),
    callback=option_values.finite,
    help="Requests a second, for all models.",
)
@click.option(
    "--day",
    metavar="24 NUMBERS|FILE",
    help="The course of a day: in proportion to the requests of each hour, from midnight, with commas between them.",
)
@options.setting("instance", "An instance type, such as ml.c7i.2xlarge; may be repeated.", type=str, multiple=True)
@option_values.option(
    "--count",
    "counts",
    metavar="NUMBERS",
    default="1..8",
    read=option_values.counts,
    help="Numbers of instances: 2, 1..8 or 1,2,4.",
)
@request_options.p99("The most that the p99 latency of loaded models may be, such as 300ms.")
@option_values.option(
    "--cold",
    metavar="PERCENT",
    read=option_values.share,
    help="The most requests that may find their model not loaded, such as 1%.",
)
@options.evict_ahead
@click.option("--batch", type=click.IntRange(1), help="Rows in a request.  [default: the least that was profiled]")
@click.option(
    "--requests", default=100_000, type=click.IntRange(1000, 10_000_000), help="How many to simulate for the answer."
)
@option_values.option(
    "--burst",
    metavar="FACTORxTIME",
    read=option_values.burst,
    help="Simulate a burst with the cheapest choice: 10x60s is ten times the requests for a minute.",
)
@click.option("--prices", type=options.FILE, help="A CSV with the columns instance, per_hour, currency and region.")
@click.option(
    "--from-endpoint",
    metavar="NAME",
    help="Plan from CloudWatch's metrics of this endpoint, without profiles and traffic: what other numbers of "
    "instances would change.",
)
@click.option(
    "--hours",
    default=3.0,
    type=click.FloatRange(0.05, 360),
    callback=option_values.finite,
    help="Hours of CloudWatch metrics to read.",
)
@output.quiet
@output.json_format
def plan(
    profiles: tuple[str, ...],
    *,
    models: int | None,
    traffic: str,
    rate: float | None,
    day: str | None,
    instance: tuple[str, ...],
    counts: tuple[int, ...],
    p99: float | None,
    cold: float | None,
    evict_ahead: bool,
    batch: int | None,
    requests: int,
    burst: tuple[float, float] | None,
    prices: Path | None,
    from_endpoint: str | None,
    hours: float,
) -> None:
    """Predict what a multi-model endpoint needs: instances, cold starts, latency and dollars.

    \b
      plan --models 1000 --rate 50 --instance ml.c7i.2xlarge --p99 300ms --cold 1%
      plan a.json:0.7 b.json:0.3 --models 1000 --rate 50 --instance ml.c7i.2xlarge --instance ml.m5.xlarge
      plan --traffic requests.csv --instance ml.c7i.2xlarge
      plan --from-endpoint triton-ensembles

    PROFILE is a file that `profile` wrote, ARCHIVE one that it has measured; by default, all that it has measured for
    the project. SHARE is that of the models which are copies of it. An ensemble that was profiled drawn and fused is
    planned in both forms.

    Each choice is simulated request by request, with the local endpoint's own rules of eviction, routing and loading.
    All figures but those of the profiled machine are estimates: docs/planning.md has what they rest on. Prices are
    those of boto3's region.

    --format json: {"traffic", "models", "requests_per_second", "goal", "choices": […], "cheapest": its index,
    "dedicated": one endpoint for each model, "deploy", "burst"}; with --from-endpoint {"endpoint", "observed",
    "counts"}
    """
    price = _pricing(prices)
    if from_endpoint is not None:
        if profiles:
            raise click.UsageError("--from-endpoint needs no profiles: it reads what the endpoint does")
        check_endpoint_name(from_endpoint)
        observed = observe(Aws(), from_endpoint, hours, counts, price)
        output.document(observed_document(observed))
        output.result(str(observed))
        return
    if not instance:
        raise click.UsageError("--instance is missing: give a type such as ml.c7i.2xlarge")
    spread = _traffic(traffic, models, rate, day)
    archives = chosen_profiles(profiles, options.profiles_folder())
    hosts = [replace(host_of(name), evict_ahead=evict_ahead) for name in dict.fromkeys(instance)]
    goal = Goal(p99, cold)
    result = make_plan(archives, spread, hosts, counts, goal, price, requests, batch or 0, timed_progress("plan"))
    deployed = simulate_deploy(result.best, spread, requests) if result.best else None
    bursting = simulate_burst(result.best, spread, *burst, requests) if result.best and burst else None
    output.document(document(result, deployed, bursting))
    output.result(tables(result, [profile for profile, _ in archives], deployed, bursting))


def _traffic(text: str, models: int | None, rate: float | None, day: str | None) -> Traffic:
    if known := re.fullmatch(r"uniform|zipf:(\d+(?:\.\d+)?)", text):
        if models is None or rate is None:
            raise click.UsageError(f"--traffic {text} needs --models and --rate")
        return zipf(models, float(known[1] or 0), rate).over(read_day(day) if day else ())
    path = Path(text)
    if not path.is_file():
        raise click.UsageError(f"'{text}' is not a kind of traffic: write zipf:1.1, uniform or the name of a file")
    if models is not None or rate is not None or day is not None:
        raise click.UsageError(f"{text} already defines models, rate and times: leave out --models, --rate and --day")
    return read_invocations(path)


def _pricing(file: Path | None) -> Callable[[str], Price]:
    """The price of an instance type in boto3's region, or in that of the table where none is set."""
    ask: AskAws | None = None
    region = TABLE_REGION
    with contextlib.suppress(EnsembleError):  # no region is set
        aws = Aws()
        region = aws.region
        if aws.has_credentials:
            ask = partial(hosting_price, aws)
    return lambda instance: price_of(instance, region, file, ask)
