"""The command ``plan``: what it chooses among, and one line for all that cannot be planned; its sums and its whole text
are those of the pages, tests/docs/test_planning.py."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.commands.projects import run, succeeded
from tests.measuring.planning.synthetic import profile
from triton_ensembles.measuring.profiling.profile import profile_file, write_profile


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two profiles, of one ensemble drawn and fused. Nobody can be asked for prices."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ensembles").mkdir()
    drawn = profile(name="bert", form="drawn", memory=400, load=2, load_cores=2, answer=0.02, core=0.02)
    fused = profile(name="bert", form="fused", memory=120, load=0.5, load_cores=0.4, answer=0.01, core=0.01)
    write_profile(drawn, tmp_path / "drawn.json")
    write_profile(fused, tmp_path / "fused.json")
    return tmp_path


def plan(*arguments: str) -> Result:
    words = [word for argument in arguments for word in argument.split()]
    return run("--project", ".", "plan", "--quiet", *words)


def document(*arguments: str) -> dict[str, Any]:
    done = succeeded(plan(*arguments, "--format json --requests 10000"))
    return dict(json.loads(done.stdout))


OF_300 = "--models 300 --rate 20 --instance ml.c5.xlarge"
SMALL = f"fused.json {OF_300}"


def test_two_ensembles_share_an_instance_up_to_a_load(folder: Path) -> None:
    command = "drawn.json --models 2 --traffic uniform --instance ml.g4dn.4xlarge --count 1,2 --p99 100ms"
    most = document(command, "--rate 5")["cheapest_up_to_requests_per_second"]
    assert 5 < most < 100
    below, above = (document(command, f"--rate {most * times:g}") for times in (0.97, 1.1))
    assert below["choices"][0]["goal_met"]
    assert not above["choices"][0]["goal_met"]


def test_the_cheapest_that_meets_the_goal_is_named_among_forms_and_counts(folder: Path) -> None:
    arguments = "drawn.json fused.json --models 500 --rate 20 --instance ml.c5.2xlarge --instance ml.m5.xlarge"
    found = document(arguments, "--count 1,4,5 --p99 300ms --cold 5%")
    assert {each["form"] for each in found["choices"]} == {"drawn", "fused"}
    assert len(found["choices"]) == 2 * 2 * 3
    met = [each for each in found["choices"] if each["goal_met"]]
    best = found["choices"][found["cheapest"]]
    assert best["dollars_a_month"] == min(each["dollars_a_month"] for each in met)
    assert best["form"] == "fused"
    for each in met:
        assert each["simulation"]["cold"] <= 0.05
        assert each["simulation"]["warm"]["p99"] <= 0.3
    choices = {(each["form"], each["instance"], each["count"]): each["simulation"] for each in found["choices"]}
    overloaded = choices["drawn", "ml.m5.xlarge", 1]
    assert overloaded["overload"].startswith("it thrashes")
    assert overloaded["warm"] is None


def test_hosts_are_counted_apart_from_instances_and_stand_for_no_dedicated_endpoint(folder: Path) -> None:
    found = document(SMALL, "--hosts 4 --count 6")
    assert [(each["instance"], each["count"]) for each in found["choices"]] == [("ml.c5.xlarge", 6), ("c5.xlarge", 4)]
    assert {each["instance"] for each in found["dedicated"]} == {"ml.c5.xlarge"}


def test_archives_stand_for_their_profiles(folder: Path) -> None:
    """And the profile of another archive is never taken for it."""
    archive = folder / "bert.tar.gz"
    archive.write_bytes(b"an archive")
    write_profile(profile(name="bert"), profile_file(folder / "build" / "profiles", archive, "0" * 64))
    missing = plan(str(archive), OF_300)
    assert "error: bert.tar.gz: it was not profiled; measure it first: " in missing.output
    assert plan(OF_300, "--count 6 --requests 1000").exit_code == 0  # all of the project's


def test_shares_divide_the_models(folder: Path) -> None:
    write_profile(profile(name="other", memory=60), folder / "other.json")
    arguments = "--models 100 --traffic uniform --rate 5 --instance ml.c5.4xlarge --count 1"
    found = document("fused.json:0.25", "other.json:75%", arguments)
    loaded = found["choices"][0]["simulation"]["memory_bytes"] / 2**20
    assert loaded == pytest.approx(25 * 120 + 75 * 60, rel=0.01)


def test_types_are_proposed_and_one_without_a_price_is_left_out(folder: Path) -> None:
    """Otherwise a newcomer has to know a type, and one that is not in the table ends the comparison of the others."""
    proposed = document("fused.json", "--models 30 --rate 5 --count 1")
    assert {choice["instance"] for choice in proposed["choices"]} >= {"ml.m5.xlarge", "ml.c5.2xlarge"}
    found = document("fused.json", "--models 30 --rate 5 --count 1 --instance ml.g6e.xlarge --instance ml.c5.xlarge")
    assert {choice["instance"] for choice in found["choices"]} == {"ml.c5.xlarge"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            f"{SMALL} --rate 100000 --requests 1000",
            "no choice keeps up with 300 models, zipf:1.1, 100000 requests/s: w",
        ),
        (f"{SMALL} --rate nan", "nan is not a number above 0"),
        (f"{SMALL} --traffic zipf:-1", "'zipf:-1' is not a kind of traffic"),
        (f"{SMALL} --traffic no.csv", "'no.csv' is not a kind of traffic: write zipf:1.1, uniform or the name of a"),
        (f"{SMALL} --traffic log.csv", "log.csv already defines models, rate and times"),
        (f"{SMALL} --count 0", "'0' is not a number of instances from 1 to 1000"),
        (f"{SMALL} --hosts 0", "'0' is not a number of instances from 1 to 1000"),
        (f"{SMALL} --count 8..1", "'8..1' is not a number of instances"),
        (f"large.json {OF_300}", r"one large.tar.gz \(9000 MiB .*does not fit into the 7373 MiB for models of ml.c5.x"),
        (f"{SMALL} --batch 7", "has no answers of 7 rows"),
        (f"{SMALL} --p99 0ms", "'0ms' is not a time above 0"),
        (f"{SMALL} --cold 150%", "'150%' is not a share from 0% to 100%"),
        (f"none.json {OF_300}", "there is no file 'none.json'; measure an archive first"),
        (f"fused.json:0 {OF_300}", "'0' is not a share of the models"),
        (f"fused.json:0.5 drawn.json {OF_300}", "some profiles have a share of the models and others have none"),
        (OF_300, "no archive of this project was profiled"),
    ],
)
def test_what_cannot_be_planned_is_one_line_and_no_number(folder: Path, arguments: str, message: str) -> None:
    write_profile(profile(name="large", memory=9000), folder / "large.json")
    (folder / "log.csv").write_text("time,model\n" + "".join(f"{number},m{number % 7}\n" for number in range(400)))
    done = plan(arguments)
    assert done.exit_code in (1, 2), done.output
    assert re.search(message, done.output.replace("\n", " ")), done.output
    assert "$" not in done.output
    assert len([line for line in done.output.splitlines() if line.lower().startswith("error")]) == 1
