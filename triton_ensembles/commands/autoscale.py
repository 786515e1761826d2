"""The command ``autoscale``."""

import click

from triton_ensembles.commands.common import endpoint_options, options
from triton_ensembles.deploy.autoscaling import GPU_TARGET, Metric, ScalingPolicy, autoscale_endpoint
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import cost, known_price
from triton_ensembles.deploy.sagemaker_endpoint import instance_type


def _target(context: click.Context, _option: click.Parameter, value: float | None) -> float:
    """Return the value, or the default that only the GPU has."""
    if value is None and context.params["metric"] is not Metric.GPU:
        raise click.UsageError("--metric invocations needs --target-value: invocations per minute and instance")
    return GPU_TARGET if value is None else value


@click.command("autoscale")
@endpoint_options.name
@options.collected(
    ScalingPolicy,
    "policy",
    click.option(
        "--metric",
        type=click.Choice([metric_name.value for metric_name in Metric]),
        default="invocations",
        is_eager=True,  # which the next one asks for
        callback=lambda _context, _option, name: Metric(name),
    ),
    click.option(
        "--target-value",
        "target",
        type=click.FloatRange(0, min_open=True),
        callback=_target,
        help=f"Percent of the GPU [default: {GPU_TARGET:g}], or invocations per minute and instance.",
    ),
    click.option("--min", "least", default=1, type=click.IntRange(0), help="Fewest instances."),
    click.option("--max", "most", default=2, type=click.IntRange(1), help="Most instances."),
    click.option(
        "--scale-in-cooldown",
        default=ScalingPolicy.scale_in_cooldown,
        type=click.IntRange(0),
        help="Seconds between two removals of instances.",
    ),
    click.option(
        "--scale-out-cooldown",
        default=ScalingPolicy.scale_out_cooldown,
        type=click.IntRange(0),
        help="Seconds between two additions of instances.",
    ),
)
def autoscale(endpoint: str, policy: ScalingPolicy) -> None:
    """Scale the number of instances with the load (target tracking).

    gpu keeps GPUUtilization at --target-value percent; invocations keeps SageMakerVariantInvocationsPerInstance at that
    many per minute. How many requests one instance can answer depends on the models (measure it with make perf), so
    invocations has no default.
    """
    if policy.least > policy.most:
        raise click.UsageError(f"--min {policy.least} is more than --max {policy.most}")
    aws = Aws()
    click.echo(f"will register {endpoint} for auto scaling: {policy}")
    click.echo("  AWS will create two CloudWatch alarms for it")
    instance = instance_type(aws, endpoint)
    click.echo(cost(known_price(aws, instance), instance, policy.least, policy.most))
    autoscale_endpoint(aws, endpoint, policy, click.echo)
