"""The price of an instance: from AWS's price list, the user's own file, or a dated table.

``ml.c5.xlarge`` is an instance of SageMaker's real-time hosting, ``c5.xlarge`` one of EC2, with Linux.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.tables import csv_rows

PRICES_PAGE = "https://aws.amazon.com/sagemaker/pricing/"
HOURS = 24 * 30
"""A month, as in AWS's own examples."""
HOURS_OF_YEAR = 24 * 365
TABLE_REGION = "us-east-1"

_TABLES = {True: Path(__file__).with_name("prices.csv"), False: Path(__file__).with_name("ec2_prices.csv")}
_COLUMNS = ("instance", "per_hour", "currency", "region")
_MOST = 1e5  # dollars an hour
_GPU_FAMILY = re.compile(r"(ml\.)?(g|p|inf|trn)")
_SIZE = re.compile(r"(\d*)xlarge")


@dataclass(frozen=True)
class Price:
    """US dollars an hour for one instance, on demand, without storage, data and discounts.

    Attributes:
        source: where the price is from, with its date.
        estimated: whether it follows from the price of another size of the same family.
    """

    dollars: float
    source: str
    estimated: bool = False

    def month(self, count: int) -> float:
        """Dollars for ``count`` instances, 24 x 30 hours."""
        return self.dollars * count * HOURS

    def year(self, count: int) -> float:
        """Dollars for ``count`` instances, 8760 hours."""
        return self.dollars * count * HOURS_OF_YEAR


AskAws = Callable[[str], Price | None]


_HOSTING = {"component": "Hosting"}
_EC2 = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def listed_price(aws: Aws, instance: str) -> Price | None:
    """The price of ``instance`` in the region, for real-time hosting or on EC2; None without exactly one answer.

    The filters are those of awslabs/llmeter (SageMakerRTEndpointCompute) and of aws/karpenter-provider-aws. The caller
    needs pricing:GetProducts.
    """
    is_hosting = _is_hosting(instance)
    code, known, key = (
        ("AmazonSageMaker", _HOSTING, "instanceName") if is_hosting else ("AmazonEC2", _EC2, "instanceType")
    )
    values = known | {key: instance, "regionCode": aws.region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in values.items()]
    try:
        products = aws.pricing.get_products(ServiceCode=code, Filters=filters, MaxResults=2)["PriceList"]
        (product,) = map(json.loads, products)
        (term,) = product["terms"]["OnDemand"].values()
        (hourly,) = (rate for rate in term["priceDimensions"].values() if rate["unit"].lower().startswith("hr"))
        dollars = float(hourly["pricePerUnit"]["USD"])
        return Price(dollars, f"AWS price list of {str(product['publicationDate'])[:10]}")
    except (ClientError, BotoCoreError, ValueError, KeyError, TypeError):
        return None


def cost(price: Price | None, instance: str, least: int, most: int) -> str:
    """Describe the cost of ``least`` to ``most`` instances: ``cost: USD 2.82 per hour (2 x ml.g5.xlarge …)``."""
    counts = (least,) if least == most else (least, most)
    number = " to ".join(f"{count}" for count in counts)
    if price is None:
        return f"cost: {number} x {instance} for every hour, used or not; the price is not available: see {PRICES_PAGE}"
    sums = " to ".join(f"{count * price.dollars:.2f}" for count in counts)
    rate = f"{number} x {instance} at {price.dollars:.4g}, on demand, {price.source}"
    return f"cost: USD {sums} per hour ({rate}), used or not, plus storage and data"


def price_of(instance: str, region: str, file: Path | None, ask: AskAws | None) -> Price:
    """The price of ``instance`` in ``region``, for a plan.

    Args:
        file: the user's prices, which then are the only ones.
        ask: asks AWS's price list, which may have no answer; None: there are no credentials to ask with.

    Raises:
        EnsembleError: there is no price, or only in another region or currency.
    """
    if file is not None:
        return _in_file(file, instance, region)
    if ask is not None and (listed := ask(instance)):
        return replace(listed, source=f"{listed.source}, {region}")
    if region != TABLE_REGION:
        message = (
            f"no price is known for {instance} in {region}: AWS did not answer, and the table has {TABLE_REGION} only"
        )
        cure = "give prices with --prices FILE, credentials for pricing:GetProducts, or another AWS_DEFAULT_REGION"
        raise EnsembleError(message, cure=cure)
    path = _TABLES[_is_hosting(instance)]
    source = path.read_text("utf-8").partition("\n")[0].removeprefix("# source: ")
    table = {row.instance: row.dollars for row in _rows(path)}
    if instance in table:
        return Price(table[instance], source)
    if estimate := _estimate(instance, table, source):
        return estimate
    message = f"no price is known for {instance}: AWS's price list did not answer, and the table does not have it"
    raise EnsembleError(message, cure="give it with --prices FILE, or credentials for pricing:GetProducts")


def known_price(aws: Aws, instance: str) -> Price | None:
    """Return the price that a plan for the region takes; None if none is known."""
    try:
        return price_of(instance, aws.region, None, partial(listed_price, aws))
    except EnsembleError:
        return None


def _is_hosting(instance: str) -> bool:
    return instance.startswith("ml.")


def _estimate(instance: str, table: dict[str, float], source: str) -> Price | None:
    """An estimate from another size of its family, if that has no GPUs: prices of those do not follow the size."""
    family, _, size = instance.rpartition(".")
    if _GPU_FAMILY.match(instance) or not (xlarges := _xlarges(size)):
        return None
    for name, dollars in table.items():
        if name.rpartition(".")[0] == family and (of_sibling := _xlarges(name.rpartition(".")[2])):
            return Price(dollars * xlarges / of_sibling, f"estimated by size from {name}, {source}", estimated=True)
    return None


def _xlarges(size: str) -> float:
    """The size as a multiple of an xlarge: ``large`` is half of it; 0 for names that do not say."""
    if size == "large":
        return 0.5
    match = _SIZE.fullmatch(size)
    return float(match[1] or 1) if match else 0.0


class _Row(NamedTuple):
    instance: str
    dollars: float
    region: str


def _in_file(path: Path, instance: str, region: str) -> Price:
    for row in _rows(path):
        if (row.instance, row.region) == (instance, region):
            return Price(row.dollars, f"{path.name}, {region}")
    raise EnsembleError(f"it has no price of {instance} in {region}", path=path, cure="add a line for it")


def _rows(path: Path) -> list[_Row]:
    rows = [row for row in csv_rows(path) if not row[1][0].startswith("#")]
    if not rows or [word.lower() for word in rows[0][1]] != [*_COLUMNS]:
        raise EnsembleError(f"its first line is not {','.join(_COLUMNS)}", path=path, cure="write it")
    return [_row(path, number, cells) for number, cells in rows[1:]]


def _row(path: Path, line: int, cells: list[str]) -> _Row:
    try:
        name, price, currency, region = cells
        dollars = float(price)
    except ValueError:
        currency, dollars = "", math.nan
    if currency.upper() != "USD" or not 0 < dollars <= _MOST:
        message = f"this line lacks an instance type, a price above 0, USD or a region: {','.join(cells)[:80]!r}"
        raise EnsembleError(message, path=path, line=line, cure="write it as ml.c5.xlarge,0.204,USD,us-east-1")
    return _Row(name, dollars, region)
