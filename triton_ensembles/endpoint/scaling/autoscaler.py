"""Changes the instance counts of endpoints as their scalable targets and policies want it."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from triton_ensembles.endpoint.endpoint_state import Endpoint, Share
from triton_ensembles.endpoint.hosting.variant import Variant
from triton_ensembles.endpoint.scaling.alarms import Alarm, read_alarm
from triton_ensembles.endpoint.scaling.policy import IN_MINUTES, TargetTracking, read_policy
from triton_ensembles.endpoint.scaling.schedule import is_due
from triton_ensembles.endpoint.scaling.statistics import latest
from triton_ensembles.endpoint.scaling.steps import StepScaling, read_steps
from triton_ensembles.endpoint.scaling.wish import Wish, chosen

CAPACITIES = ("MinCapacity", "MaxCapacity")
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


class _Seen(NamedTuple):
    """An alarm that has been looked at, its state, and how far its metric's latest value is above its threshold."""

    alarm: Alarm
    state: str
    breach: float


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
        self._scheduled = time.time()  # when the schedules were last looked at
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
        if await asyncio.to_thread(self._follow_schedules, scaling, targets):
            targets = (await asyncio.to_thread(scaling.describe_scalable_targets, **known))["ScalableTargets"]
        policies = (await asyncio.to_thread(scaling.describe_scaling_policies, **known))["ScalingPolicies"]
        await self._publish()
        alarms = await asyncio.to_thread(self._alarms, [each["PolicyARN"] for each in policies if _has_steps(each)])
        for target in targets:
            own = [each for each in policies if each["ResourceId"] == target["ResourceId"]]
            await self._look_at(target, own, alarms)

    def _follow_schedules(self, scaling: Any, targets: Sequence[Mapping[str, Any]]) -> bool:
        """Change the capacities of targets as the actions want it that are due. Returns whether any was."""
        after, self._scheduled = self._scheduled, time.time()
        suspended = {each["ResourceId"]: each.get("SuspendedState") or {} for each in targets}
        changed = False
        for action in scaling.describe_scheduled_actions(ServiceNamespace=NAMESPACE)["ScheduledActions"]:
            paused = suspended.get(action["ResourceId"], {}).get("ScheduledScalingSuspended", False)
            if not paused and is_due(action, after, self._scheduled):
                capacities = action.get("ScalableTargetAction") or {}
                wanted = {name: capacities[name] for name in CAPACITIES if capacities.get(name) is not None}
                target = {name: action[name] for name in ("ServiceNamespace", "ResourceId", "ScalableDimension")}
                scaling.register_scalable_target(**target, **wanted)
                changed = True
        return changed

    async def _look_at(
        self, target: Mapping[str, Any], policies: Sequence[Mapping[str, Any]], alarms: Sequence[_Seen]
    ) -> None:
        resource = target["ResourceId"]
        found = self.variant(resource)
        if found is None or found[0].in_progress:
            return
        endpoint, variant = found
        count = variant.plan.instance_count
        least, most = target["MinCapacity"], target["MaxCapacity"]
        wanted, cause = min(max(count, least), most), f"the capacity must be from {least} to {most}"
        if wanted == count:
            wishes = [
                wish for each in policies if _has_steps(each) for wish in _stepped(read_steps(each), count, alarms)
            ]
            for each in policies:
                if not _has_steps(each):
                    wishes.append(await self._tracked(read_policy(each, endpoint.name, variant.plan.name), count))
            since = time.monotonic() - self._changed.get(resource, float("-inf"))
            wish = chosen(wishes, count, since, target.get("SuspendedState") or {})
            if wish is not None:
                wanted, cause = min(max(wish.count, least), most), wish.cause
        if wanted != count and not endpoint.in_progress:
            await self._scale(resource, endpoint, variant.plan.name, wanted, cause)

    async def _tracked(self, policy: TargetTracking, count: int) -> Wish:
        values = await asyncio.to_thread(latest, self._clients("cloudwatch"), policy.metric, 60, IN_MINUTES)
        number = policy.wanted(count, values)
        cause = f"the policy {policy.name} tracks {policy.metric.name} at {policy.target:g}"
        return Wish(number, cause, policy.out_cooldown if number > count else policy.in_cooldown, tracks=True)

    def _alarms(self, policies: Sequence[str]) -> list[_Seen]:
        """Look at the alarms that call policies of these ARNs, and tell CloudWatch their states."""
        if not policies:
            return []
        cloudwatch, found = self._clients("cloudwatch"), []
        for each in cloudwatch.describe_alarms()["MetricAlarms"]:
            alarm = read_alarm(each)
            if alarm is None or not any(map(alarm.calls, policies)):
                continue
            values = latest(cloudwatch, alarm.metric, alarm.period, alarm.periods)
            state = alarm.look(values)
            if state != alarm.state:
                reason = f"the latest values are {values}, and the threshold is {alarm.threshold:g}"
                cloudwatch.set_alarm_state(AlarmName=alarm.name, StateValue=state, StateReason=reason)
            value = next((value for value in reversed(values) if value is not None), None)
            if value is not None:
                found.append(_Seen(alarm, state, value - alarm.threshold))
        return found

    async def _scale(self, resource: str, endpoint: Endpoint, variant: str, count: int, cause: str) -> None:
        activity = Activity(resource, count, cause)
        self.activities.appendleft(activity)
        endpoint.rescale({variant: Share(instance_count=count)})
        await endpoint.wait_until_settled(_SETTLE_SECONDS)
        self._changed[resource] = time.monotonic()
        activity.ended, activity.failure = time.time(), endpoint.failure


def _has_steps(policy: Mapping[str, Any]) -> bool:
    return bool(policy["PolicyType"] == "StepScaling")


def _stepped(policy: StepScaling, count: int, alarms: Sequence[_Seen]) -> list[Wish]:
    return [
        Wish(
            policy.wanted(count, seen.breach),
            f"the alarm {seen.alarm.name} in state {seen.state} calls the policy {policy.name}",
            policy.cooldown,
            tracks=False,
        )
        for seen in alarms
        if seen.alarm.calls(policy.arn, seen.state)
    ]
