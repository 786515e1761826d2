"""What an instance costs an hour, asked of AWS itself: a table in a repository is wrong the day after it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.deploy.aws import Aws

PRICES_PAGE = "https://aws.amazon.com/sagemaker/pricing/"


@dataclass(frozen=True)
class Price:
    """US dollars an hour for one instance, without storage, data and discounts; ``date`` is the price list's own."""

    dollars: float
    date: str


def hosting_price(aws: Aws, instance: str) -> Price | None:
    """The on-demand price of ``instance`` for real-time hosting in the region; None when it cannot be had.

    The filters are those of awslabs/llmeter (SageMakerRTEndpointCompute). The caller needs pricing:GetProducts.
    """
    wanted = {"component": "Hosting", "instanceName": instance, "regionCode": aws.region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    try:
        found = aws.pricing.get_products(ServiceCode="AmazonSageMaker", Filters=filters, MaxResults=2)["PriceList"]
        return _read(json.loads(found[0])) if len(found) == 1 else None
    except (ClientError, BotoCoreError, ValueError, KeyError, TypeError):
        return None


def cost(price: Price | None, instance: str, least: int, most: int) -> str:
    """One sentence on the cost of so many instances: ``2 ml.g5.xlarge cost USD 2.82 an hour …``."""
    number = f"{least}" if least == most else f"{least} to {most}"
    if price is None:
        return (
            f"cost: {number} x {instance} for every hour that it exists, used or not; the price is not known here "
            f"(AWS's price list did not answer): see {PRICES_PAGE}"
        )
    sums = (
        f"{least * price.dollars:.2f}"
        if least == most
        else f"{least * price.dollars:.2f} to {most * price.dollars:.2f}"
    )
    return (
        f"cost: USD {sums} an hour ({number} x {instance} at {price.dollars:.4g}, on demand, AWS price list of "
        f"{price.date}), used or not; storage and data come on top"
    )


def _read(product: Any) -> Price | None:
    """One product of the price list: its one on-demand term has one dimension whose unit is hours."""
    (term,) = product["terms"]["OnDemand"].values()
    hourly = [each for each in term["priceDimensions"].values() if each["unit"].lower().startswith("hr")]
    if len(hourly) != 1:
        return None
    return Price(float(hourly[0]["pricePerUnit"]["USD"]), str(product["publicationDate"])[:10])
