"""AddTags, ListTags, DeleteTags, and the Tags of every Create operation."""

from collections.abc import Mapping, Sequence
from typing import Any

from triton_ensembles.endpoint.api.errors import ValidationException


class Tags:
    """Tags by ARN, in the order in which they were given."""

    def __init__(self) -> None:
        self._tags: dict[str, dict[str, str]] = {}

    def create(self, arn: str, request: Mapping[str, Any]) -> None:
        """The tags of a new resource."""
        self._tags[arn] = {}
        self._put(arn, request.get("Tags") or [])

    def forget(self, arn: str) -> None:
        self._tags.pop(arn, None)

    def add(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._put(request["ResourceArn"], request["Tags"])
        return self.list(request)

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        held = self._of(request["ResourceArn"])
        for key in request["TagKeys"]:
            held.pop(key, None)
        return {}

    def list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """All tags at once: a page can hold more than a resource can have."""
        held = self._of(request["ResourceArn"])
        return {"Tags": [{"Key": key, "Value": value} for key, value in held.items()]}

    def _put(self, arn: str, tags: Sequence[Mapping[str, str]]) -> None:
        self._of(arn).update({tag["Key"]: tag["Value"] for tag in tags})

    def _of(self, arn: str) -> dict[str, str]:
        # SageMaker writes names in lower case in ARNs, and ignores the case of the ARNs it is given.
        if arn.lower() not in self._tags:
            raise ValidationException(f'Could not find the resource "{arn}".')
        return self._tags[arn.lower()]
