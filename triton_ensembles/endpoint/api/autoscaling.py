"""Application Auto Scaling for the variants of endpoints: moto answers, the autoscaler acts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from triton_ensembles.endpoint.api.errors import ApiError, NotSupportedLocally, ValidationException
from triton_ensembles.endpoint.api.json_body import parsed
from triton_ensembles.endpoint.api.operations import reply
from triton_ensembles.endpoint.api.validation import operation_model, validate
from triton_ensembles.endpoint.scaling.autoscaler import DIMENSION, NAMESPACE, Activity, Autoscaler
from triton_ensembles.endpoint.scaling.policy import PREDEFINED

_SERVICE = "application-autoscaling"
_CHANGING = {"RegisterScalableTarget", "PutScalingPolicy", "DeleteScalingPolicy", "DeregisterScalableTarget"}
_OPERATIONS = {*_CHANGING, "DescribeScalableTargets", "DescribeScalingPolicies", "DescribeScalingActivities"}
_NEEDS_TARGET = {"PutScalingPolicy", "DeregisterScalableTarget"}
_CUSTOMIZED = {"Namespace", "MetricName", "Dimensions", "Statistic", "Unit"}
_TRACKING = {"TargetValue", "PredefinedMetricSpecification", "CustomizedMetricSpecification"}
_TRACKING |= {"ScaleOutCooldown", "ScaleInCooldown", "DisableScaleIn"}


class ObjectNotFoundException(ApiError):
    """There is no such scalable target or policy."""


@dataclass(frozen=True)
class AutoscalingApi:
    """The operations; moto listens at ``base``."""

    session: aiohttp.ClientSession
    base: str
    region: str
    autoscaler: Autoscaler

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """The reply of an operation. Raises ApiError, or hosting's ServiceUnavailable."""
        operation = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
        model = operation_model(_SERVICE, operation)
        if model is None or operation not in _OPERATIONS:
            raise NotSupportedLocally(f"{_SERVICE}:{operation}", f"supported are {', '.join(sorted(_OPERATIONS))}")
        parameters = await parsed(request)
        validate(model.input_shape, parameters)
        _check_scope(parameters)
        if operation == "DescribeScalingActivities":
            return reply(200, self._activities(parameters))
        if operation == "PutScalingPolicy":
            _check_policy(parameters)
        if operation == "RegisterScalableTarget":
            await self._check_target(parameters)
        elif operation in _NEEDS_TARGET and await self._target(parameters) is None:
            raise _not_found("scalable target", parameters)
        if operation == "DeleteScalingPolicy" and parameters["PolicyName"] not in await self._policies(parameters):
            raise _not_found("scaling policy", parameters, f", policy name: {parameters['PolicyName']}")
        if operation == "DeregisterScalableTarget":  # its policies go with it
            for policy in await self._policies(parameters):
                await self._ask("DeleteScalingPolicy", {**_scope(parameters), "PolicyName": policy})
        status, answer = await self._ask(operation, parameters)
        if operation in _CHANGING and status == 200:
            self.autoscaler.look()
        return reply(status, answer)

    async def _check_target(self, parameters: Mapping[str, Any]) -> None:
        resource = parameters["ResourceId"]
        if self.autoscaler.variant(resource) is None:
            known = "it must be endpoint/NAME/variant/NAME, of an endpoint in service"
            raise ValidationException(f"The resource {resource} does not exist: {known}")
        old = await self._target(parameters) or {}
        least, most = (parameters.get(name, old.get(name)) for name in ("MinCapacity", "MaxCapacity"))
        if least is None or most is None:
            raise ValidationException("A new scalable target needs a MinCapacity and a MaxCapacity")
        if not 1 <= least <= most:
            raise ValidationException(f"The MinCapacity {least} must be from 1 to the MaxCapacity {most}")

    async def _target(self, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
        request = {"ResourceIds": [parameters["ResourceId"]], **_scope(parameters, "ScalableDimension")}
        _, answer = await self._ask("DescribeScalableTargets", request)
        return next(iter(answer["ScalableTargets"]), None)

    async def _policies(self, parameters: Mapping[str, Any]) -> list[str]:
        """The names of a target's policies."""
        _, answer = await self._ask("DescribeScalingPolicies", _scope(parameters))
        policies, resource = answer["ScalingPolicies"], parameters["ResourceId"]
        return [policy["PolicyName"] for policy in policies if policy["ResourceId"] == resource]

    async def _ask(self, operation: str, parameters: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """moto's status and answer."""
        credential = f"Credential=local/20000101/{self.region}/{_SERVICE}/aws4_request"
        headers = {
            "X-Amz-Target": f"AnyScaleFrontendService.{operation}",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0",
        }
        async with self.session.post(f"{self.base}/", data=json.dumps(parameters), headers=headers) as answer:
            body = await answer.read()
            if answer.status >= 400 and not body:  # not an answer of the service's own
                raise ValidationException("A value of the request has the wrong format")
            return answer.status, json.loads(body or b"{}")

    def _activities(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        resource = parameters.get("ResourceId")
        activities = self.autoscaler.activities
        shown = [_shown(activity) for activity in activities if resource in (None, activity.resource_id)]
        return {"ScalingActivities": shown[: parameters.get("MaxResults", len(shown))]}


def _not_found(kind: str, parameters: Mapping[str, Any], name: str = "") -> ObjectNotFoundException:
    place = f"service namespace: {NAMESPACE}, resource ID: {parameters['ResourceId']}"
    return ObjectNotFoundException(f"No {kind} found for {place}, scalable dimension: {DIMENSION}{name}")


def _scope(parameters: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The members that say which target is meant."""
    members = names or ("ResourceId", "ScalableDimension")
    return {name: parameters[name] for name in ("ServiceNamespace", *members) if name in parameters}


def _check_scope(parameters: Mapping[str, Any]) -> None:
    for name, supported in (("ServiceNamespace", NAMESPACE), ("ScalableDimension", DIMENSION)):
        if parameters.get(name, supported) != supported:
            raise NotSupportedLocally(f"{name} {parameters[name]}", f"{supported} is")


def _check_policy(parameters: dict[str, Any]) -> None:
    """Refuse what would be kept without an effect."""
    kind = parameters.get("PolicyType") or "StepScaling"  # AWS's default
    if kind != "TargetTrackingScaling":
        raise NotSupportedLocally(f"PolicyType {kind}", "TargetTrackingScaling is")
    settings = parameters.get("TargetTrackingScalingPolicyConfiguration")
    if settings is None:
        raise ValidationException("The TargetTrackingScalingPolicyConfiguration is missing")
    predefined, custom = (settings.get(f"{name}MetricSpecification") for name in ("Predefined", "Customized"))
    if bool(predefined) == bool(custom):
        raise ValidationException("Give either a PredefinedMetricSpecification or a CustomizedMetricSpecification")
    if not settings["TargetValue"] > 0:
        raise ValidationException("The TargetValue must be greater than 0")
    if predefined and predefined["PredefinedMetricType"] not in PREDEFINED:
        known = " and ".join(PREDEFINED)
        raise NotSupportedLocally(f"PredefinedMetricType {predefined['PredefinedMetricType']}", f"{known} are")
    for name in set(custom or {}) - _CUSTOMIZED | set(settings) - _TRACKING:
        raise NotSupportedLocally(f"{name} in a scaling policy")
    if custom and not {"Namespace", "MetricName", "Statistic"} <= set(custom):
        raise ValidationException("A CustomizedMetricSpecification needs a Namespace, a MetricName and a Statistic")


def _shown(activity: Activity) -> dict[str, Any]:
    status = "InProgress" if activity.ended is None else "Successful"
    shown: dict[str, Any] = {
        "ActivityId": activity.id,
        "ServiceNamespace": NAMESPACE,
        "ResourceId": activity.resource_id,
        "ScalableDimension": DIMENSION,
        "Description": f"Setting desired instance count to {activity.count}.",
        "Cause": activity.cause,
        "StartTime": activity.started,
        "StatusCode": "Failed" if activity.failure else status,
        "StatusMessage": activity.failure or f"The instance count is {activity.count}.",
    }
    return shown | ({"EndTime": activity.ended} if activity.ended else {})
