"""The List operations: filtered, sorted and cut into pages, as all of SageMaker's are."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from triton_ensembles.endpoint.api.errors import ValidationException

_BOUNDS = {
    "CreationTimeAfter": ("CreationTime", 1),
    "CreationTimeBefore": ("CreationTime", -1),
    "LastModifiedTimeAfter": ("LastModifiedTime", 1),
    "LastModifiedTimeBefore": ("LastModifiedTime", -1),
}


def page(
    items: Iterable[Mapping[str, Any]], request: Mapping[str, Any], kind: str, default_size: int
) -> dict[str, Any]:
    """The reply with one page of summaries, and the token of the next page if there is one.

    Args:
        items: summaries such as ``{"EndpointName", "CreationTime", "LastModifiedTime", "EndpointStatus", …}``.
        request: NameContains, CreationTimeAfter and so on, StatusEquals, SortBy, SortOrder, MaxResults, NextToken.
        kind: what the summaries' member names begin with: "Endpoint".
        default_size: MaxResults where the request has none.
    """
    name = f"{kind}Name"
    kept = [item for item in items if _wanted(item, request, name, f"{kind}Status")]
    by = request.get("SortBy", "CreationTime")
    member = {"Name": name, "Status": f"{kind}Status"}.get(by, by)
    backwards = request.get("SortOrder", "Descending") == "Descending"
    kept.sort(key=lambda item: (item[member], item[name]), reverse=backwards)
    if token := request.get("NextToken"):
        last = _read(token)
        kept = [item for item in kept if _after([item[member], item[name]], last, backwards)]
    size = int(request.get("MaxResults", default_size))
    following = {"NextToken": _write(kept[size - 1][member], kept[size - 1][name])} if len(kept) > size else {}
    return {f"{kind}s": kept[:size]} | following


def _wanted(item: Mapping[str, Any], request: Mapping[str, Any], name: str, status: str) -> bool:
    if request.get("NameContains", "").lower() not in item[name].lower():
        return False
    if "StatusEquals" in request and item[status] != request["StatusEquals"]:
        return False
    return all(
        (item[member] - request[bound]) * sign > 0 for bound, (member, sign) in _BOUNDS.items() if bound in request
    )


def _after(key: list[Any], last: list[Any], backwards: bool) -> bool:
    try:
        return key < last if backwards else key > last
    except TypeError as error:
        raise _bad_token() from error


def _write(value: Any, name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([value, name]).encode()).decode()


def _read(token: str) -> list[Any]:
    try:
        value, name = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, binascii.Error) as error:
        raise _bad_token() from error
    return [value, name]


def _bad_token() -> ValidationException:
    return ValidationException("The NextToken is not one that a List operation returned with the same SortBy")
