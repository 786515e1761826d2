"""The parameters of STS and CloudWatch, compared with botocore's service models: moto only looks at some of them.

Percentiles, which moto does not compute, and alarms that call scaling policies, which nothing evaluates, are refused.
"""

from __future__ import annotations

from typing import Any

from moto.core.parse import RequestParserError
from moto.core.responses import BaseResponse

from triton_ensembles.endpoint.api.control import parsed
from triton_ensembles.endpoint.api.errors import (
    ApiError,
    NotSupportedLocally,
    SerializationException,
    ValidationException,
)
from triton_ensembles.endpoint.api.validation import operation_model, validate
from triton_ensembles.endpoint.aws_services.fault import Fault

_STATISTICS = ("Sum", "Average", "Minimum", "Maximum", "SampleCount")
_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_UNREADABLE = (RequestParserError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def install() -> None:
    """Make moto refuse what does not fit, in this process."""
    parse = BaseResponse.parse_parameters

    def parse_parameters(self: Any, request: Any) -> None:
        operation = operation_model(self.boto3_service_name, self._get_action())
        if operation is None or operation.input_shape is None:
            parse(self, request)
            return
        in_json = "json" in (request.content_type or "")
        try:
            if in_json:
                validate(operation.input_shape, parsed(request.data))
            _parse(parse, self, request)
            if not in_json:
                validate(operation.input_shape, self.params)
            _refuse(operation.name, self.params)
        except ValidationException as error:  # these services call it so
            raise Fault("ValidationError", error.message) from error
        except ApiError as error:
            raise Fault(error.code, error.message) from error

    BaseResponse.parse_parameters = parse_parameters


def _parse(parse: Any, response: Any, request: Any) -> None:
    try:
        parse(response, request)
    except _UNREADABLE as error:
        raise SerializationException(f"a value of the request has the wrong format: {error}") from error


def _refuse(operation: str, parameters: dict[str, Any]) -> None:
    """Raise NotSupportedLocally for what would be kept or left out without a word."""
    statistics = list(parameters.get("ExtendedStatistics") or [])
    for query in parameters.get("MetricDataQueries") or []:
        statistics.append((query.get("MetricStat") or {}).get("Stat"))
    for statistic in statistics:
        if statistic not in (None, *_STATISTICS):
            cure = f"ask for {', '.join(_STATISTICS)}; the status page has p50, p90 and p99 of each model"
            raise NotSupportedLocally(f"the statistic {statistic} of CloudWatch", cure)
    actions = [arn for name in _ACTIONS for arn in parameters.get(name) or []]
    if operation == "PutMetricAlarm" and any(":scalingPolicy:" in arn for arn in actions):
        raise NotSupportedLocally(
            "an alarm that calls a scaling policy", "use a policy of the type TargetTrackingScaling"
        )
