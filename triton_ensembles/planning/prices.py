"""What an instance costs: from AWS's price list, the user's own file, or a dated table."""

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.deploy.price import Price
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import read_text
from triton_ensembles.planning.instances import vcpus

HOURS = 24 * 30
"""Of a month, as in AWS's own examples."""
HOURS_OF_YEAR = 24 * 365
TABLE_REGION = "us-east-1"

_TABLE = Path(__file__).with_name("prices.csv")
_COLUMNS = ("instance", "per_hour", "currency", "region")
_LONGEST = 1 << 24  # bytes of a file
_MOST = 1e5  # dollars an hour
_SOURCE = "table of fmbench 2.1.1, us-east-1, read 2026-11"
_GPU_FAMILY = re.compile(r"ml\.(g|p|inf|trn)")

AskAws = Callable[[str], Price | None]


@dataclass(frozen=True)
class Quote:
    """US dollars an hour for one instance, on demand.

    Attributes:
        source: where the price is from, with its date.
        estimated: whether it is that of another size of the same family, by vCPUs.
    """

    dollars: float
    source: str
    estimated: bool = False

    def month(self, count: int) -> float:
        """Dollars for ``count`` instances, 24 x 30 hours."""
        return self.dollars * count * HOURS


def quote(instance: str, region: str, file: Path | None, ask: AskAws | None) -> Quote:
    """The price of ``instance`` in ``region``.

    Args:
        file: the user's prices, which then are the only ones.
        ask: asks AWS's price list, which may have no answer; None: nobody can be asked.

    Raises:
        EnsembleError: there is no price, or only in another region or currency.
    """
    if file is not None:
        return _in_file(file, instance, region)
    if ask is not None and (found := ask(instance)):
        return Quote(found.dollars, f"AWS price list of {found.date}, {region}")
    if region != TABLE_REGION:
        raise EnsembleError(
            f"no price is known for {instance} in {region}: AWS's price list did not answer, and the table has "
            f"{TABLE_REGION} only",
            cure=f"give prices with --prices FILE, credentials for pricing:GetProducts, or --region {TABLE_REGION}",
        )
    table = {name: dollars for name, dollars, _, _, _ in _rows(_TABLE)}
    if instance in table:
        return Quote(table[instance], _SOURCE)
    if sibling := _sibling(instance, table):
        dollars = table[sibling] * vcpus(instance) / vcpus(sibling)
        return Quote(dollars, f"estimated by vCPUs from {sibling}, {_SOURCE}", estimated=True)
    raise EnsembleError(
        f"no price is known for {instance}: AWS's price list did not answer, and the table does not have it",
        cure="give it with --prices FILE, or credentials for pricing:GetProducts",
    )


def _sibling(instance: str, table: dict[str, float]) -> str | None:
    """Another size of its family, if that has no GPUs: prices of those do not follow the vCPUs."""
    if _GPU_FAMILY.match(instance):
        return None
    family = instance.rpartition(".")[0]
    return next((name for name in table if name.rpartition(".")[0] == family), None)


def _in_file(path: Path, instance: str, region: str) -> Quote:
    rows = _rows(path)
    found = [row for row in rows if row[0] == instance]
    if not found:
        raise EnsembleError(f"it has no price of {instance}", path=path, cure="add a line for it")
    here = [row for row in found if row[3] == region]
    if not here:
        raise EnsembleError(
            f"its price of {instance} is for {found[0][3]}, not for {region}",
            path=path,
            line=found[0][4],
            cure=f"add a line for {region}, or plan with --region {found[0][3]}",
        )
    if len(here) > 1:
        raise EnsembleError(
            f"it has two prices of {instance} in {region}", path=path, line=here[1][4], cure="leave one of them"
        )
    ((_, dollars, currency, _, line),) = here
    if currency != "USD":
        raise EnsembleError(
            f"its price of {instance} is in {currency}",
            path=path,
            line=line,
            cure="give US dollars (USD): all sums are in them",
        )
    return Quote(dollars, f"{path.name}, {region}")


def _rows(path: Path) -> list[tuple[str, float, str, str, int]]:
    lines = read_text(path, _LONGEST).splitlines()
    found: list[tuple[str, float, str, str, int]] = []
    numbers = [number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    try:
        table = list(csv.reader(lines[number - 1] for number in numbers))
    except csv.Error as error:
        raise EnsembleError(
            f"this is not a CSV: {error}", path=path, cure=f"begin it with {','.join(_COLUMNS)}"
        ) from None
    header = tuple(word.strip().lower() for word in (table[0] if table else ()))
    if header != _COLUMNS:
        raise EnsembleError(
            f"its first line is not {','.join(_COLUMNS)}", path=path, line=numbers[0] if numbers else 1, cure="write it"
        )
    for number, row in zip(numbers[1:], table[1:], strict=False):
        cells = [cell.strip() for cell in row]
        if len(cells) != len(_COLUMNS) or not all(cells):
            raise EnsembleError(f"it has to have {len(_COLUMNS)} values", path=path, line=number, cure="complete it")
        name, price, currency, region = cells
        try:
            dollars = float(price)
        except ValueError:
            dollars = math.nan
        if not 0 < dollars <= _MOST:
            raise EnsembleError(
                f"'{price}' is no price of an hour", path=path, line=number, cure="write a number above 0, such as 0.94"
            )
        found.append((name if name.startswith("ml.") else f"ml.{name}", dollars, currency.upper(), region, number))
    return found
