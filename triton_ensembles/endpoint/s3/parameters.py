"""The parameters of STS and CloudWatch, compared with botocore's service models: moto only looks at some of them."""

from __future__ import annotations

from typing import Any

from moto.core.parse import RequestParserError
from moto.core.responses import BaseResponse

from triton_ensembles.endpoint.api.control import parsed
from triton_ensembles.endpoint.api.errors import ApiError, SerializationException, ValidationException
from triton_ensembles.endpoint.api.validation import operation_model, validate
from triton_ensembles.endpoint.s3.fault import Fault

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
