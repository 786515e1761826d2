"""``plan``"""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from triton_ensembles.commands import option_values, options, output
from triton_ensembles.commands.builds import timed_progress
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import hosting_price
from triton_ensembles.deploy.resource_names import check_endpoint_name
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.planning.chosen_profiles import chosen_profiles
from triton_ensembles.planning.day import read_day
from triton_ensembles.planning.document import document
from triton_ensembles.planning.goal import Goal
from triton_ensembles.planning.happenings import burst as simulate_burst
from triton_ensembles.planning.happenings import deploy as simulate_deploy
from triton_ensembles.planning.instances import SLACK, host_of
from triton_ensembles.planning.invocations import read_invocations
from triton_ensembles.planning.observed import observe
from triton_ensembles.planning.plan import plan as make_plan
from triton_ensembles.planning.prices import TABLE_REGION, AskAws, Quote, quote
from triton_ensembles.planning.table import tables
from triton_ensembles.planning.traffic import Traffic, uniform, zipf

_PICTURES = (".png", ".svg", ".pdf")


@click.command()
@click.argument("profiles", nargs=-1, metavar="[PROFILE|ARCHIVE[:SHARE]]...")
@click.option("--models", type=int, help="How many models there are, copies of the archives in their shares.")
@click.option(
    "--traffic",
    metavar="zipf:ALPHA|uniform|FILE",
    default="zipf:1.1",
    help="How often each is asked. FILE: requests as they came, a CSV with the columns time and model, or JSON lines "
    "with such keys; it says models and rate, too.",
)
@click.option("--rate", type=float, help="Requests a second, for all models.")
@click.option(
    "--day",
    metavar="24 NUMBERS|FILE",
    help="The course of a day: in proportion to the requests of each hour, from midnight, with commas between them.",
)
@click.option(
    "--instance",
    "instances",
    metavar="TYPE",
    multiple=True,
    help="An instance type, such as ml.c7i.2xlarge; may be repeated.",
)
@option_values.option(
    "--count",
    "counts",
    metavar="NUMBERS",
    default="1..8",
    read=option_values.counts,
    help="Numbers of instances: 2, 1..8 or 1,2,4.",
)
@option_values.option(
    "--p99",
    metavar="TIME",
    read=option_values.seconds,
    help="The most that the p99 latency of loaded models may be, such as 300ms.",
)
@option_values.option(
    "--cold",
    metavar="PERCENT",
    read=option_values.share,
    help="The most requests that may find their model not loaded, such as 1%.",
)
@click.option("--batch", type=click.IntRange(1), help="Rows in a request.  [default: the least that was profiled]")
@click.option(
    "--requests",
    default=100_000,
    type=click.IntRange(0, 10_000_000),
    help="How many to simulate for each choice; 0: closed form only.",
)
@option_values.option(
    "--burst",
    metavar="FACTORxTIME",
    read=option_values.burst,
    help="Simulate a burst with the cheapest choice: 10x60s is ten times the requests for a minute.",
)
@option_values.option(
    "--slack",
    metavar="PERCENT",
    default=f"{SLACK * 100:g}%",
    read=option_values.share,
    help="Memory of an instance that models may not use.",
)
@option_values.option(
    "--disk",
    metavar="SIZE",
    read=option_values.size,
    help="Disk of an instance for unpacked archives, such as 200G.  [default: its own drives, or as much as needed]",
)
@click.option("--prices", type=options.FILE, help="A CSV with the columns instance, per_hour, currency and region.")
@click.option("--region", help=f"Whose prices.  [default: that of boto3, or {TABLE_REGION}]")
@click.option("--allow-gaps", is_flag=True, help="Long times without a request in FILE are what they were, not holes.")
@click.option("--plot", type=options.NEW_FILE, help="Write cost against cold requests to this PNG, SVG or PDF.")
@click.option(
    "--from-endpoint",
    metavar="NAME",
    help="Read what CloudWatch knows of this endpoint, and say what other numbers of instances would change; without "
    "profiles and traffic.",
)
@click.option(
    "--hours",
    default=3.0,
    type=click.FloatRange(0.05, 360),
    callback=option_values.finite,
    help="Of CloudWatch's metrics.",
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
    instances: tuple[str, ...],
    counts: tuple[int, ...],
    p99: float | None,
    cold: float | None,
    batch: int | None,
    requests: int,
    burst: tuple[float, float] | None,
    slack: float,
    disk: int | None,
    prices: Path | None,
    region: str | None,
    allow_gaps: bool,
    plot: Path | None,
    from_endpoint: str | None,
    hours: float,
) -> None:
    """Predict what a multi-model endpoint needs: instances, cold starts, latency and dollars.

    \b
      plan --models 1000 --rate 50 --instance ml.c7i.2xlarge --p99 300ms --cold 1%
      plan a.json:0.7 b.json:0.3 --models 1000 --rate 50 --instance ml.c7i.2xlarge --instance ml.m5.xlarge
      plan --traffic requests.csv --instance ml.c7i.2xlarge --plot plan.svg
      plan --from-endpoint triton-ensembles

    PROFILE is a file that `profile` wrote, ARCHIVE one that it has measured; by default, all that it has measured for
    the project. SHARE is that of the models which are copies of it. An ensemble that was profiled drawn and fused is
    planned in both forms.

    Each choice is predicted in closed form for the steady state, and simulated request by request, with the eviction,
    routing and order of loads of the local endpoint; where the two differ by more than 2 points, that is said. All
    figures but those of the profiled machine are estimates: docs/planning.md has what they rest on.

    --format json: {"traffic", "models", "requests_per_second", "goal", "choices": […], "cheapest": its index,
    "dedicated": one endpoint for each model, "deploy", "burst"}; with --from-endpoint {"endpoint", "observed",
    "counts"}
    """
    aws = _aws(region)
    home = region or (aws.region if aws else TABLE_REGION)

    def price(instance: str) -> Quote:
        return quote(instance, home, prices, _asking(aws))

    if from_endpoint is not None:
        _from_endpoint(from_endpoint, profiles, hours, counts, price)
        return
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise click.UsageError(f"--plot writes {', '.join(_PICTURES)}, not '{plot.name}'")
    if not instances:
        raise click.UsageError("--instance is missing: give a type such as ml.c7i.2xlarge")
    wanted = _traffic(traffic, models, rate, day, allow_gaps=allow_gaps)
    archives = chosen_profiles(profiles, options.profiles_folder())
    hosts = [host_of(name, slack, disk) for name in dict.fromkeys(instances)]
    found = make_plan(
        archives, wanted, hosts, counts, Goal(p99, cold), price, requests, batch or 0, timed_progress("plan")
    )
    deployed = simulate_deploy(found.best, wanted, requests) if found.best and requests else None
    bursting = simulate_burst(found.best, wanted, *burst, requests) if found.best and burst else None
    if plot is not None:
        from triton_ensembles.planning.plot import draw  # matplotlib takes a second

        draw(found, plot)
    output.document(document(found, deployed, bursting))
    output.result(tables(found, [profile for profile, _ in archives], deployed, bursting))
    if plot is not None:
        output.result(shown(plot))


def _traffic(text: str, models: int | None, rate: float | None, day: str | None, *, allow_gaps: bool) -> Traffic:
    kind, colon, exponent = text.partition(":")
    if text == "uniform" or (kind == "zipf" and colon):
        if models is None or rate is None:
            raise click.UsageError(f"--traffic {text} needs --models and --rate")
        curve = read_day(day) if day else ()
        if kind == "uniform":
            return uniform(models, rate).over(curve)
        try:
            alpha = float(exponent)
        except ValueError:
            raise click.UsageError(
                f"'{text}' is not a kind of traffic: write zipf:1.1, uniform or the name of a file"
            ) from None
        return zipf(models, alpha, rate).over(curve)
    path = Path(text)
    if not path.is_file():
        raise click.UsageError(f"'{text}' is not a kind of traffic: write zipf:1.1, uniform or the name of a file")
    if models is not None or rate is not None or day is not None:
        raise click.UsageError(f"{text} says models, rate and times itself: leave out --models, --rate and --day")
    return read_invocations(path, allow_gaps=allow_gaps)


def _aws(region: str | None) -> Aws | None:
    """For prices; None where no region is set, so that nobody can be asked."""
    try:
        return Aws(region)
    except EnsembleError:
        return None


def _asking(aws: Aws | None) -> AskAws | None:
    if aws is None or not aws.has_credentials:
        return None
    return lambda instance: hosting_price(aws, instance)


def _from_endpoint(
    name: str, profiles: Sequence[str], hours: float, counts: Sequence[int], price: Callable[[str], Quote]
) -> None:
    if profiles:
        raise click.UsageError("--from-endpoint needs no profiles: it reads what the endpoint does")
    check_endpoint_name(name)
    seen = observe(Aws(), name, hours, counts, price)
    output.document(seen.document())
    output.result(str(seen))
