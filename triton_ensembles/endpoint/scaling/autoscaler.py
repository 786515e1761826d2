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
from triton_ensembles.endpoint.scaling.policy import IN_MINUTES, Proposal, TargetTracking, chosen, read_policy
from triton_ensembles.endpoint.variants.variant import Variant

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
    """Follows the scalable targets of moto. ``publish`` sends CloudWatch what was measured, ``find`` is by name."""

    def __init__(
        self, clients: Clients, publish: Callable[[], Awaitable[None]], find: Callable[[str], Endpoint | None]
    ) -> None:
        self.activities: deque[Activity] = deque(maxlen=_KEPT)  # the newest first
        self._clients = clients
        self._publish = publish
        self._find = find
        self._changed: dict[str, float] = {}  # monotonic: when a resource was last scaled
        self._requested = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()  # one that looks, and those of changes, which wait for no other

    def look(self) -> None:
        """Look at all targets now, and from time to time from now on."""
        self._requested.set()
        if not self._tasks:
            self._tasks.add(asyncio.create_task(self._run()))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

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
            self._requested.clear()
            try:
                await self._look_at_all()
            except Exception:
                _log.exception("auto scaling failed")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), _PAUSE_SECONDS)

    async def _look_at_all(self) -> None:
        scaling = await asyncio.to_thread(self._clients, "application-autoscaling")
        known = {"ServiceNamespace": NAMESPACE}
        targets = (await asyncio.to_thread(scaling.describe_scalable_targets, **known))["ScalableTargets"]
        if not targets:
            return
        policies = (await asyncio.to_thread(scaling.describe_scaling_policies, **known))["ScalingPolicies"]
        await self._publish()
        for target in targets:
            own = [policy for policy in policies if policy["ResourceId"] == target["ResourceId"]]
            await self._look_at(target, own)

    async def _look_at(self, target: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> None:
        resource = target["ResourceId"]
        scaled = self.variant(resource)
        if scaled is None or scaled[0].in_progress:
            return
        endpoint, variant = scaled
        count = variant.plan.instance_count
        least, most = target["MinCapacity"], target["MaxCapacity"]
        desired, cause = min(max(count, least), most), f"the capacity must be from {least} to {most}"
        if desired == count:
            tracked = [read_policy(policy, endpoint.name, variant.plan.name) for policy in policies]
            proposals = [await self._proposal(policy, count) for policy in tracked]
            since = time.monotonic() - self._changed.get(resource, float("-inf"))
            proposal = chosen(proposals, count, since, target.get("SuspendedState") or {})
            if proposal is not None:
                desired, cause = min(max(proposal.count, least), most), proposal.cause
        if desired != count and not endpoint.in_progress:
            self._scale(resource, endpoint, variant.plan.name, desired, cause)

    async def _proposal(self, policy: TargetTracking, count: int) -> Proposal:
        values = await asyncio.to_thread(_latest_minutes, self._clients("cloudwatch"), policy.metric, IN_MINUTES)
        desired = policy.instances(count, values)
        cause = f"the policy {policy.name} tracks {policy.metric['MetricName']} at {policy.target:g}"
        return Proposal(desired, cause, policy.out_cooldown if desired > count else policy.in_cooldown)

    def _scale(self, resource: str, endpoint: Endpoint, variant: str, count: int, cause: str) -> None:
        activity = Activity(resource, count, cause)
        self.activities.appendleft(activity)
        endpoint.rescale({variant: Share(instance_count=count)})
        task = asyncio.create_task(self._settle(endpoint, activity))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, endpoint: Endpoint, activity: Activity) -> None:
        await endpoint.wait_until_settled(_SETTLE_SECONDS)
        self._changed[activity.resource_id] = time.monotonic()
        activity.ended, activity.failure = time.time(), endpoint.failure
        self._requested.set()  # another variant of the endpoint may have waited for it


def _latest_minutes(cloudwatch: Any, metric: Mapping[str, Any], minutes: int) -> list[float | None]:
    """Return a value for each of the last whole minutes, the newest last; None where there is none."""
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    begin = end - timedelta(minutes=minutes)
    points = cloudwatch.get_metric_statistics(
        Namespace=metric["Namespace"],
        MetricName=metric["MetricName"],
        Dimensions=metric.get("Dimensions") or [],
        StartTime=begin,
        EndTime=end,
        Period=60,
        Statistics=[metric["Statistic"]],
    )["Datapoints"]
    values = {int((point["Timestamp"] - begin).total_seconds() // 60): point[metric["Statistic"]] for point in points}
    return [values.get(minute) for minute in range(minutes)]
