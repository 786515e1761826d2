"""The price of an instance per hour, from AWS's price list: a table in a repository would soon be out of date."""

import json
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.deploy.aws import Aws

PRICES_PAGE = "https://aws.amazon.com/sagemaker/pricing/"


@dataclass(frozen=True)
class Price:
    """US dollars per hour for one instance, without storage, data and discounts; ``date`` is that of the price list."""

    dollars: float
    date: str


def hosting_price(aws: Aws, instance: str) -> Price | None:
    """The on-demand price of ``instance`` for real-time hosting in the region; None without exactly one answer.

    The filters are those of awslabs/llmeter (SageMakerRTEndpointCompute). The caller needs pricing:GetProducts.
    """
    fields = {"component": "Hosting", "instanceName": instance, "regionCode": aws.region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in fields.items()]
    try:
        products = aws.pricing.get_products(ServiceCode="AmazonSageMaker", Filters=filters, MaxResults=2)["PriceList"]
        (product,) = map(json.loads, products)
        (term,) = product["terms"]["OnDemand"].values()
        (hourly,) = (
            dimension for dimension in term["priceDimensions"].values() if dimension["unit"].lower().startswith("hr")
        )
        return Price(float(hourly["pricePerUnit"]["USD"]), str(product["publicationDate"])[:10])
    except (ClientError, BotoCoreError, ValueError, KeyError, TypeError):
        return None


def cost(price: Price | None, instance: str, least: int, most: int) -> str:
    """One sentence on the cost of ``least`` to ``most`` instances: ``cost: USD 2.82 per hour (2 x ml.g5.xlarge …)``."""
    counts = (least,) if least == most else (least, most)
    number = " to ".join(f"{count}" for count in counts)
    if price is None:
        return (
            f"cost: {number} x {instance} for every hour that the endpoint exists, used or not; the price is not "
            f"available (AWS's price list did not answer): see {PRICES_PAGE}"
        )
    sums = " to ".join(f"{count * price.dollars:.2f}" for count in counts)
    return (
        f"cost: USD {sums} per hour ({number} x {instance} at {price.dollars:.4g}, on demand, AWS price list of "
        f"{price.date}), used or not, plus storage and data"
    )
