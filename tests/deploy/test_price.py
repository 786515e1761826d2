"""The cost per hour: from AWS's own price list, or not available."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.stub import Stubber

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import Price, cost, hosting_price

PARAMETERS = {
    "ServiceCode": "AmazonSageMaker",
    "MaxResults": 2,
    "Filters": [
        {"Type": "TERM_MATCH", "Field": "component", "Value": "Hosting"},
        {"Type": "TERM_MATCH", "Field": "instanceName", "Value": "ml.g4dn.xlarge"},
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "eu-central-1"},
    ],
}


def product(*units: str) -> str:
    dimensions = {f"rate{i}": {"unit": unit, "pricePerUnit": {"USD": "0.921"}} for i, unit in enumerate(units)}
    return json.dumps(
        {
            "terms": {"OnDemand": {"sku.term": {"priceDimensions": dimensions}}},
            "publicationDate": "2026-05-01T10:00:00Z",
        }
    )


def asked(answer: Any) -> Price | None:
    aws = Aws()
    with Stubber(aws.pricing) as stub:
        if isinstance(answer, str):
            stub.add_client_error("get_products", answer, "no", 400)
        else:
            stub.add_response("get_products", {"PriceList": answer}, PARAMETERS)
        price = hosting_price(aws, "ml.g4dn.xlarge")
        stub.assert_no_pending_responses()
    return price


def test_the_price_is_that_of_hosting_in_the_region(credentials: None) -> None:
    """Otherwise the price of training, or of another region, would be shown."""
    assert asked([product("Hrs")]) == Price(0.921, "2026-05-01")


@pytest.mark.parametrize(
    "answer",
    [[], [product("Hrs"), product("Hrs")], [product("GB-Mo")], [product("Hrs", "Hrs")], ["{}"], ["[]"], ["no JSON"]],
)
def test_an_ambiguous_answer_gives_no_price(credentials: None, answer: list[str]) -> None:
    """Otherwise a user would be shown a wrong price, which is worse than none."""
    assert asked(answer) is None


@pytest.mark.parametrize("code", ["AccessDeniedException", "UnknownOperationException"])
def test_deploying_does_not_need_the_price_list(credentials: None, code: str) -> None:
    """Its errors only mean that there is no price."""
    assert asked(code) is None


def test_the_cost_of_one_or_of_a_range_of_instances() -> None:
    """The sentence has the sum, the price of one instance, or where to find it."""
    assert "USD 1.84 per hour (2 x ml.g4dn.xlarge at 0.921" in cost(Price(0.921, "2026-05-01"), "ml.g4dn.xlarge", 2, 2)
    assert "USD 0.92 to 2.76 per hour (1 to 3 x" in cost(Price(0.921, "2026-05-01"), "ml.g4dn.xlarge", 1, 3)
    assert "the price is not available" in cost(None, "ml.g4dn.xlarge", 1, 1)
