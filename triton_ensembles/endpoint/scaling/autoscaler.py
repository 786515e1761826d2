"""Changes the instance counts of endpoints as their scalable targets and policies want it."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from triton_ensembles.endpoint.endpoint_state import Endpoint, Share
from triton_ensembles.endpoint.hosting.variant import Variant
from triton_ensembles.endpoint.scaling.policy import IN_MINUTES, Metric, TargetTracking, read_policy

NAMESPACE, DIMENSION = "sagemaker", "sagemaker:variant:DesiredInstanceCount"
_PAUSE_SECONDS = 10.0
_SETTLE_SECONDS = 3600.0  # at most; AWS's limit of a start is as long
_KEPT = 100  # activities

_log = logging.getLogger(__name__)
Clients = Callable[[str], Any]  # from a service's name: a boto3 client of moto


@dataclass
class Activity:
    """One change, as DescribeScalingActivities shows it."""

    resource_id: str
    count: int
    cause: str
    ended: float | None = None
    failure: str = ""
    started: float = field(default_factory=time.time)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


class Autoscaler:
    """Follows the scalable targets of moto, from the first one that is registered.

    Args:
        clients: clients of moto, which may be used in any thread.
        publish: sends CloudWatch what was measured.
        find: returns the endpoint of a name.
    """

    def __init__(
        self, clients: Clients, publish: Callable[[], Awaitable[None]], find: Callable[[str], Endpoint | None]
    ) -> None:
        self.activities: deque[Activity] = deque(maxlen=_KEPT)  # the newest first
        self._clients = clients
        self._publish = publish
        self._find = find
        self._changed: dict[str, float] = {}  # monotonic: when a resource was last scaled
        self._asked = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Look at all targets now, and from time to time from now on."""
        self._asked.set()
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def variant(self, resource_id: str) -> tuple[Endpoint, Variant] | None:
        """The endpoint and the running variant of "endpoint/NAME/variant/NAME"; None where there is none."""
        parts = resource_id.split("/")
        if len(parts) != 4 or (parts[0], parts[2]) != ("endpoint", "variant"):
            return None
        endpoint = self._find(parts[1])
        for variant in endpoint.running if endpoint else []:
            if endpoint and variant.plan.name == parts[3]:
                return endpoint, variant
        return None

    async def _run(self) -> None:
        while True:
            self._asked.clear()
            try:
                await self._look_at_all()
            except Exception:
                _log.exception("auto scaling failed")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _PAUSE_SECONDS)

    async def _look_at_all(self) -> None:
        scaling = await asyncio.to_thread(self._clients, "application-autoscaling")
        known = {"ServiceNamespace": NAMESPACE}
        targets = (await asyncio.to_thread(scaling.describe_scalable_targets, **known))["ScalableTargets"]
        if not targets:
            return
        policies = (await asyncio.to_thread(scaling.describe_scaling_policies, **known))["ScalingPolicies"]
        await self._publish()
        for target in targets:
            own = [each for each in policies if each["ResourceId"] == target["ResourceId"]]
            await self._look_at(target, own)

    async def _look_at(self, target: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> None:
        resource = target["ResourceId"]
        found = self.variant(resource)
        if found is None or found[0].in_progress:
            return
        endpoint, variant = found
        count = variant.plan.instance_count
        least, most = target["MinCapacity"], target["MaxCapacity"]
        wanted, cause = min(max(count, least), most), f"the capacity must be from {least} to {most}"
        if wanted == count:
            tracked = [read_policy(policy, endpoint.name, variant.plan.name) for policy in policies]
            wanted, cause = await self._tracked(resource, count, tracked, target.get("SuspendedState") or {})
            wanted = min(max(wanted, least), most)
        if wanted != count and not endpoint.in_progress:
            await self._scale(resource, endpoint, variant.plan.name, wanted, cause)

    async def _tracked(
        self, resource: str, count: int, policies: Sequence[TargetTracking], suspended: Mapping[str, bool]
    ) -> tuple[int, str]:
        """The most instances that any policy wants, and why: as on AWS, all must agree to have fewer."""
        since = time.monotonic() - self._changed.get(resource, float("-inf"))
        wanted: dict[int, str] = {}
        for policy in policies:
            number = policy.wanted(count, await asyncio.to_thread(self._values, policy.metric))
            out = number > count
            paused = suspended.get("DynamicScalingOutSuspended" if out else "DynamicScalingInSuspended", False)
            if number != count and (paused or since < (policy.out_cooldown if out else policy.in_cooldown)):
                number = count
            wanted.setdefault(number, f"the policy {policy.name} tracks {policy.metric.name} at {policy.target:g}")
        return max(wanted.items(), default=(count, ""))

    async def _scale(self, resource: str, endpoint: Endpoint, variant: str, count: int, cause: str) -> None:
        activity = Activity(resource, count, cause)
        self.activities.appendleft(activity)
        endpoint.rescale({variant: Share(instance_count=count)})
        await endpoint.wait_until_settled(_SETTLE_SECONDS)
        self._changed[resource] = time.monotonic()
        activity.ended, activity.failure = time.time(), endpoint.failure

    def _values(self, metric: Metric) -> list[float | None]:
        """One value for each of the last whole minutes, the newest last."""
        end = datetime.now(UTC).replace(second=0, microsecond=0)
        begin = end - timedelta(minutes=IN_MINUTES)
        points = self._clients("cloudwatch").get_metric_statistics(
            Namespace=metric.namespace,
            MetricName=metric.name,
            Dimensions=[{"Name": name, "Value": value} for name, value in metric.dimensions],
            StartTime=begin,
            EndTime=end,
            Period=60,
            Statistics=[metric.statistic],
        )["Datapoints"]
        found = {int((point["Timestamp"] - begin).total_seconds() // 60): point[metric.statistic] for point in points}
        return [found.get(minute) for minute in range(IN_MINUTES)]
