"""The price of an instance: no sum in dollars rests on a price of something else."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.price import Price, cost, known_price, listed_price, price_of
from triton_ensembles.ground.errors import EnsembleError

HEAD = "instance,per_hour,currency,region\n"
LISTED = "AWS price list of 2026-11-01"

HOSTING = {"component": "Hosting", "instanceName": "ml.g4dn.xlarge", "regionCode": "eu-central-1"}
EC2 = {
    **{"operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared", "capacitystatus": "Used"},
    **{"marketoption": "OnDemand", "instanceType": "g4dn.xlarge", "regionCode": "eu-central-1"},
}


def product(*units: str) -> str:
    dimensions = {f"rate{i}": {"unit": unit, "pricePerUnit": {"USD": "0.921"}} for i, unit in enumerate(units)}
    terms = {"OnDemand": {"sku.term": {"priceDimensions": dimensions}}}
    return json.dumps({"terms": terms, "publicationDate": "2026-05-01T10:00:00Z"})


def asked(answer: Any, instance: str = "ml.g4dn.xlarge") -> Price | None:
    aws, is_hosting = Aws(), instance.startswith("ml.")
    values = (HOSTING if is_hosting else EC2).items()
    parameters = {
        "ServiceCode": "AmazonSageMaker" if is_hosting else "AmazonEC2",
        "MaxResults": 2,
        "Filters": [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in values],
    }
    with Stubber(aws.pricing) as stub:
        if isinstance(answer, str):
            stub.add_client_error("get_products", answer, "no", 400)
        else:
            stub.add_response("get_products", {"PriceList": answer}, parameters)
        price = listed_price(aws, instance)
        stub.assert_no_pending_responses()
    return price


@pytest.mark.parametrize("instance", ["ml.g4dn.xlarge", "g4dn.xlarge"])
def test_the_price_is_that_of_hosting_or_of_a_machine_in_the_region(credentials: None, instance: str) -> None:
    """Otherwise the price of training, of Windows, or of another region, would be shown."""
    assert asked([product("Hrs")], instance) == Price(0.921, "AWS price list of 2026-05-01")


@pytest.mark.parametrize(
    "answer",
    [
        *([], [product("Hrs"), product("Hrs")], [product("GB-Mo")], [product("Hrs", "Hrs")]),
        *(["{}"], ["[]"], ["no JSON"], "AccessDeniedException", "UnknownOperationException"),
    ],
)
def test_an_ambiguous_answer_or_an_error_is_no_price(credentials: None, answer: list[str] | str) -> None:
    """Otherwise a user would be shown a wrong price, which is worse than none; or could not deploy without one."""
    assert asked(answer) is None


def test_the_cost_of_one_or_of_a_range_of_instances() -> None:
    """The sentence has the sum, the price of one instance, or where to find it."""
    listed = Price(0.921, LISTED)
    two = cost(listed, "ml.g4dn.xlarge", 2, 2)
    assert f"USD 1.84 per hour (2 x ml.g4dn.xlarge at 0.921, on demand, {LISTED})" in two
    assert "USD 0.92 to 2.76 per hour (1 to 3 x" in cost(listed, "ml.g4dn.xlarge", 1, 3)
    assert "the price is not available" in cost(None, "ml.g4dn.xlarge", 1, 1)


def test_aws_is_asked_first_then_the_table_then_another_size_of_a_family_without_gpus() -> None:
    asked = price_of("ml.g4dn.2xlarge", "eu-central-1", None, lambda _: Price(1.17, LISTED))
    assert (asked.dollars, asked.source) == (1.17, f"{LISTED}, eu-central-1")
    fallen = price_of("ml.g4dn.2xlarge", "us-east-1", None, lambda _: None)
    assert fallen.dollars == 0.94
    assert "us-east-1, read 2026-11" in fallen.source
    assert fallen.month(1) == pytest.approx(676.80)
    machine = price_of("g4dn.2xlarge", "us-east-1", None, None)
    assert (machine.dollars, "generated 2026-01-19" in machine.source) == (0.752, True)
    estimate = price_of("ml.c7i.2xlarge", "us-east-1", None, None)
    assert (estimate.estimated, estimate.dollars) == (True, pytest.approx(0.428))
    assert "estimated by size from ml.c7i.xlarge" in estimate.source


def test_a_deployment_names_the_price_that_a_plan_takes(credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise `plan` knows a price that `deploy` and `status` call unavailable."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # nobody answers
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert known_price(Aws(), "ml.g4dn.2xlarge") == price_of("ml.g4dn.2xlarge", "us-east-1", None, None)
    assert known_price(Aws(), "ml.g6.4xlarge") is None


@pytest.mark.parametrize(
    ("instance", "region", "message"),
    [
        ("ml.g6.4xlarge", "us-east-1", "no price is known for ml.g6.4xlarge"),
        ("g6.4xlarge", "us-east-1", "no price is known for g6.4xlarge"),
        ("ml.m7i.large", "us-east-1", "no price is known for ml.m7i.large"),
        ("ml.c5.xlarge", "eu-central-1", "ml.c5.xlarge in eu-central-1: .* the table has us-east-1 only"),
    ],
)
def test_without_a_price_there_is_no_sum(instance: str, region: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message) as caught:
        price_of(instance, region, None, None)
    assert "--prices FILE" in caught.value.cure


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ml.c5.xlarge,0.2,EUR,us-east-1", r":2: this line lacks an instance type, a price above 0, USD"),
        ("ml.c5.xlarge,0.2,USD,eu-west-1", "it has no price of ml.c5.xlarge in us-east-1"),
        ("ml.m5.xlarge,0.2,USD,us-east-1", "it has no price of ml.c5.xlarge in us-east-1"),
        *((f"ml.c5.xlarge,{price},USD,us-east-1", ":2: this line lacks") for price in ("0", "nan", "$0.2")),
        *((row, ":2: this line lacks") for row in ("ml.c5.xlarge,0.2,,us-east-1", "ml.c5.xlarge,0.2")),
        ("ml.c5.xlarge," + "9" * 200_000, "this is not a CSV: field larger"),
    ],
)
def test_a_price_file_is_read_strictly(tmp_path: Path, rows: str, message: str) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(HEAD + rows + "\n")
    with pytest.raises(EnsembleError, match=message):
        price_of("ml.c5.xlarge", "us-east-1", file, lambda _: Price(0.1, LISTED))


def test_a_price_file_replaces_all_other_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(f"# of our contract\n{HEAD}c5.xlarge, 0.15, usd, eu-west-1\nml.c5.xlarge,0.16,USD,us-east-1\n")
    assert price_of("c5.xlarge", "eu-west-1", file, lambda _: Price(9, LISTED)).dollars == 0.15
    with pytest.raises(EnsembleError, match=r"it has no price of ml\.c5\.xlarge in eu-west-1"):
        price_of("ml.c5.xlarge", "eu-west-1", file, None)
    file.write_text("instance,price\nml.c5.xlarge,1\n")
    with pytest.raises(EnsembleError, match="its first line is not instance,per_hour,currency,region"):
        price_of("ml.c5.xlarge", "us-east-1", file, None)
