"""A plan for an endpoint that runs: what CloudWatch has seen of it, and what other numbers of instances would change.

CloudWatch has no metric by model, so how unevenly models are requested is concluded: the exponent of Zipf's law that
explains the share of warm requests, with the models that stay loaded. Models are taken to be alike.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.price import Price
from triton_ensembles.deploy.sagemaker_endpoint import container_of, existing_endpoint
from triton_ensembles.deploy.stored import stored_archives
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.residency import residency
from triton_ensembles.measuring.planning.traffic import zipf
from triton_ensembles.sagemaker.metric_names import METRICS

_MOST_POINTS = 1440  # of one answer
_STATISTICS = ("Sum", "SampleCount")
_METRICS = (
    *("Invocations", "ModelCacheHit", "LoadedModelCount", "ModelLoadingTime", "ModelLoadingWaitTime"),
    *("ModelUnloadingTime", "ModelLatency"),
)
_LEAST = 100  # requests, from which a share can be told
_STEEPEST = 5.0  # exponent
_MICRO = 1e-6


@dataclass(frozen=True)
class Seen:
    """The values of one metric."""

    count: float
    total: float

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


def _seen(aws: Aws, endpoint: str, variant: str, hours: float) -> dict[str, Seen]:
    """The metrics over the last hours, in CloudWatch's units; those without values have a count of 0.
    Raises :class:`ClientError`: AWS's reason."""
    end = datetime.now(UTC) + timedelta(seconds=60)
    metrics: dict[str, Seen] = {}
    for name in _METRICS:
        points = aws.cloudwatch.get_metric_statistics(
            Namespace=METRICS[name].namespace,
            MetricName=name,
            Dimensions=[{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
            StartTime=end - timedelta(hours=hours),
            EndTime=end,
            Period=60 * max(1, math.ceil(hours * 60 / _MOST_POINTS)),
            Statistics=list(_STATISTICS),
        )["Datapoints"]
        total, count = (sum(float(point[key]) for point in points) for key in _STATISTICS)
        metrics[name] = Seen(count, total)
    return metrics


@dataclass(frozen=True)
class Count:
    """The effect of a number of instances; None: CloudWatch's metrics do not tell."""

    instances: int
    cold: float | None
    loads_per_second: float | None
    resident: float | None
    dollars_a_month: float


@dataclass(frozen=True)
class Observed:
    """CloudWatch's metrics of an endpoint, and what follows from them.

    Attributes:
        models: archives under the endpoint's prefix in S3.
        loaded: models loaded, on average, over all instances.
        load_seconds: of one load; None where there was none.
        wait_seconds: mean time that a cold request waited for its model.
        unloads_per_second: of all instances.
        alpha: the exponent that explains the cold share; None: it cannot be told.
    """

    endpoint: str
    instance: str
    instances: int
    hours: float
    requests_per_second: float
    models: int
    cold: float
    loaded: float
    load_seconds: float | None
    wait_seconds: float | None
    unloads_per_second: float
    model_seconds: float | None
    alpha: float | None
    counts: tuple[Count, ...]
    price: str

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        where = f"{self.instances} x {self.instance}, {self.models} models in S3"
        yield f"{self.endpoint}: {where}, the last {self.hours:g} hours"
        yield (
            f"  {self.requests_per_second:.3g} requests/s, {_percent(self.cold)} cold, {self.loaded:.1f} models "
            f"loaded, {self.unloads_per_second:.2g} unloads/s"
        )
        means = {
            "a load takes": self.load_seconds,
            "a cold request waits": self.wait_seconds,
            "the container answers in": self.model_seconds,
        }
        if waits := [f"{name} {seconds:.2g} s" for name, seconds in means.items() if seconds is not None]:
            yield f"  {', '.join(waits)}"
        if self.alpha is not None:
            yield f"  that is Zipf's law with an exponent of {self.alpha:.2f}, if models are alike"
        elif self.unloads_per_second == 0:
            yield "  nothing was unloaded: cold requests were the first of their models; more instances would not help"
            yield "  what fewer would do cannot be told from these metrics: give plan a log of requests"
        yield ""
        for count in self.counts:
            now = "  (now)" if count.instances == self.instances else ""
            cost = f"${count.dollars_a_month:,.2f} a month".replace(",", " ")
            change = ""
            if count.cold is not None:
                change = f"{_percent(count.cold)} cold, {count.loads_per_second:.2g} loads/s, "
                change += f"{count.resident:.0f} models loaded, "
            yield f"  {count.instances} x {self.instance}: {change}{cost}{now}"
        yield f"  {self.price}"


def observe(aws: Aws, endpoint: str, hours: float, counts: Sequence[int], price: Callable[[str], Price]) -> Observed:
    """Read CloudWatch's metrics of the endpoint's first variant.

    Raises:
        EnsembleError: there is no such endpoint, it is not a multi-model endpoint, it had too few requests;
            or AWS's reason.
    """
    instance, instances, models, values = _read(aws, endpoint, hours)
    requests, hits, loaded = values["Invocations"].total, values["ModelCacheHit"], values["LoadedModelCount"].mean
    if requests < _LEAST or not hits.count or loaded is None:
        message = f"CloudWatch has {requests:.0f} requests of {endpoint} in the last {hours:g} hours, which is too few"
        raise EnsembleError(message, cure="give it traffic, or look further back with --hours")
    quoted = price(instance)
    rate = requests / (hours * 3600)
    cold = 1 - hits.total / hits.count
    unloads = values["ModelUnloadingTime"].count / (hours * 3600)
    load = _seconds(values["ModelLoadingTime"])
    memory = min(loaded * instances, float(models))
    fitted = _Fit(models, rate, (load or 0.0) + (_seconds(values["ModelUnloadingTime"]) or 0.0))
    alpha = fitted.alpha(memory, cold) if unloads and memory < models else None
    numbers = sorted({*counts, instances})
    return Observed(
        endpoint=endpoint,
        instance=instance,
        instances=instances,
        hours=hours,
        requests_per_second=rate,
        models=models,
        cold=cold,
        loaded=loaded * instances,
        load_seconds=load,
        wait_seconds=_seconds(values["ModelLoadingWaitTime"]),
        unloads_per_second=unloads,
        model_seconds=_seconds(values["ModelLatency"]),
        alpha=alpha,
        counts=tuple(_count(fitted, alpha, memory / instances, number, quoted) for number in numbers),
        price=f"{quoted.dollars:.4g} $/h, {quoted.source}; a month is 24 x 30 hours",
    )


def _read(aws: Aws, endpoint: str, hours: float) -> tuple[str, int, int, Mapping[str, Seen]]:
    """Return the instance type, the numbers of instances and of models, and the metrics by name."""
    with aws_errors(f"read the metrics of {endpoint}"):
        description = existing_endpoint(aws, endpoint)
        variant = description["ProductionVariants"][0]
        config = aws.sagemaker.describe_endpoint_config(EndpointConfigName=description["EndpointConfigName"])
        variants = {settings["VariantName"]: settings for settings in config["ProductionVariants"]}
        configured = variants[variant["VariantName"]]
        models = _models(aws, endpoint, container_of(aws, configured) or {})
        values = _seen(aws, endpoint, variant["VariantName"], hours)
    instances = max(1, int(variant.get("CurrentInstanceCount", 1)))
    return str(configured.get("InstanceType", "?")), instances, models, values


class _Fit:
    """Models that are alike, requested after Zipf's law."""

    def __init__(self, models: int, rate: float, load_seconds: float) -> None:
        self._models, self._rate, self._load = models, rate, load_seconds

    def at(self, alpha: float, memory: float) -> tuple[float, float, float]:
        """The share of cold requests, loads a second and models loaded, with memory for ``memory`` models."""
        rates = zipf(self._models, alpha, self._rate).rates
        steady = residency(rates, self._load, memory)
        return float((rates * steady.cold).sum() / self._rate), float((rates * steady.loads).sum()), steady.loaded.sum()

    def alpha(self, memory: float, cold: float) -> float | None:
        """The exponent with which that many of the requests are cold; None: no exponent explains it."""
        low, high = 0.0, _STEEPEST
        if not self.at(high, memory)[0] <= cold <= self.at(low, memory)[0]:
            return None
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.at(middle, memory)[0] > cold else (low, middle)
        return (low + high) / 2


def _count(fitted: _Fit, alpha: float | None, capacity: float, instances: int, price: Price) -> Count:
    """``capacity``: models that one instance holds."""
    if alpha is None:
        return Count(instances, None, None, None, price.month(instances))
    cold, loads, resident = fitted.at(alpha, capacity * instances)
    return Count(instances, cold, loads, float(resident), price.month(instances))


def _models(aws: Aws, endpoint: str, container: Mapping[str, Any]) -> int:
    """The number of archives under the endpoint's prefix."""
    url = container.get("ModelDataUrl", "")
    if container.get("Mode") != "MultiModel" or not url.startswith("s3://"):
        raise EnsembleError(f"{endpoint} is not a multi-model endpoint", cure="plan from profiles instead")
    return max(1, len(stored_archives(aws, S3Prefix.of_url(url))))


def _seconds(value: Seen) -> float | None:
    return None if value.mean is None else value.mean * _MICRO


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
