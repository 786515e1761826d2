"""The List operations: filtered, sorted and cut into pages, as all of SageMaker's are."""

import base64
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
        kind: what the summaries' member names begin with: "Endpoint".
        default_size: MaxResults where the request has none.
    """
    name = f"{kind}Name"
    kept = [item for item in items if _matches(item, request, name, f"{kind}Status")]
    by = request.get("SortBy", "CreationTime")
    member = {"Name": name, "Status": f"{kind}Status"}.get(by, by)
    backwards = request.get("SortOrder", "Descending") == "Descending"
    kept.sort(key=lambda item: (item[member], item[name]), reverse=backwards)
    if token := request.get("NextToken"):
        try:
            last = json.loads(base64.urlsafe_b64decode(token))
            keys = [[item[member], item[name]] for item in kept]
            kept = [item for item, key in zip(kept, keys, strict=True) if (key < last if backwards else key > last)]
        except (ValueError, TypeError) as error:
            message = "The NextToken is not one that a List operation returned with the same SortBy"
            raise ValidationException(message) from error
    size = int(request.get("MaxResults", default_size))
    if len(kept) <= size:
        return {f"{kind}s": kept}
    last = json.dumps([kept[size - 1][member], kept[size - 1][name]])
    return {f"{kind}s": kept[:size], "NextToken": base64.urlsafe_b64encode(last.encode()).decode()}


def _matches(item: Mapping[str, Any], request: Mapping[str, Any], name: str, status: str) -> bool:
    if request.get("NameContains", "").lower() not in item[name].lower():
        return False
    if "StatusEquals" in request and item[status] != request["StatusEquals"]:
        return False
    return all(
        (item[member] - request[bound]) * sign > 0 for bound, (member, sign) in _BOUNDS.items() if bound in request
    )
