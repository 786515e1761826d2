"""Fused ensembles on the local endpoint: their steps at /metrics and on the status page, as those of drawn ones."""

import json
import re
from typing import Any

from tests import chain
from tests.endpoint.conftest import Deployer, page
from tests.endpoint.test_metrics import samples, values_of
from tests.hosting import archives
from tests.processes import wait_until
from triton_ensembles.building.built import Built
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.endpoint.local import LocalEndpoint


def ask(runtime: Any, endpoint: str, **target: str) -> None:
    body = json.dumps({"inputs": [{"name": "X", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}]})
    reply = runtime.invoke_endpoint(EndpointName=endpoint, ContentType="application/json", Body=body, **target)
    assert archives.values(reply["Body"].read()) == [3, 4, 5, 6, 7, 8]


def rows_of(local: LocalEndpoint, endpoint: str) -> dict[tuple[str, str], list[str]]:
    """The cells after the step in the table of latencies, by target model and step."""
    card = page(local).partition(f'data-endpoint="{endpoint}"')[2].partition("</article>")[0]
    found = {}
    for body in re.findall(r"<tbody>(.*?)</tbody>", card.partition('class="latencies"')[2], re.DOTALL):
        (target,) = re.findall(r'<th scope="rowgroup"[^>]*>(.*?)</th>', body)
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL):
            step, *cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
            found[target, step] = cells
    return found


def test_steps_are_counted_by_archive_and_shown_on_the_page(
    fused_chain: Built, deployer: Deployer, local: LocalEndpoint, runtime: Any
) -> None:
    """Two versions of one ensemble, as they are on an endpoint between an upload and the last use of the older one."""
    asked = {"fused/chain-1.tar.gz": 3, "fused/chain-2.tar.gz": 1}
    for key in asked:
        deployer.put(key, fused_chain.archive.read_bytes())
    deployer.multi_model("fused", Image=PIP_SERVER)
    for key, times in asked.items():
        for _ in range(times):
            ask(runtime, "fused", TargetModel=key)
    for key, times in asked.items():
        for step in chain.STEPS:
            labels = {"target_model": key, "variant": "AllTraffic", "instance": "0", "step": step, "version": "1"}
            for name, count in (("requests", times), ("rows", 2 * times)):
                name = f"fused_step_{name}_total"
                wait_until(lambda: values_of(samples(local, "fused"), name, **labels) == [count])  # noqa: B023
    steps = [*chain.STEPS, "total in Triton"]
    counts = {(key, step): str(times) for key, times in asked.items() for step in steps}
    shown: dict[tuple[str, str], list[str]] = {}

    def complete() -> bool:
        """Triton may not answer at once, and counts a request after it has sent the answer."""
        nonlocal shown
        shown = rows_of(local, "fused")
        return counts == {row: cells[0] for row, cells in shown.items() if row in counts}

    wait_until(complete)
    for key in asked:
        rows = [step for target, step in shown if target == key]
        assert rows[:2] == ["container", "platform, including waiting"]
        assert rows[-3:] == ["total in Triton", *sorted(chain.STEPS)]
        for step in chain.STEPS:
            _, *quantiles, mean = shown[key, step]
            assert list(map(float, quantiles)) == sorted(map(float, quantiles))
            assert min(*map(float, quantiles), float(mean)) >= chain.SLEEPS_MS[step]


def test_the_steps_of_an_unloaded_model_disappear(
    fused_chain: Built, deployer: Deployer, local: LocalEndpoint, runtime: Any
) -> None:
    """Otherwise an endpoint of thousands of models shows, and keeps, every step that it has ever run. Triton itself
    keeps the failures of all models, and the runtime's counters of processes that were killed."""
    deployer.put("brief/chain.tar.gz", fused_chain.archive.read_bytes())
    deployer.multi_model("brief", Image=PIP_SERVER, MultiModelConfig={"ModelCacheSetting": "Disabled"})
    for _ in range(3):  # loaded, and unloaded as soon as it has answered
        ask(runtime, "brief", TargetModel="brief/chain.tar.gz")
        wait_until(lambda: not [each for each in samples(local, "brief") if "model" in each.labels])


def test_the_steps_of_a_single_model_are_its_own(
    fused_chain: Built, deployer: Deployer, local: LocalEndpoint, runtime: Any
) -> None:
    """Triton calls the model of a single-model endpoint by its own name, not by that of the archive."""
    deployer.single_model("lone", fused_chain.archive.read_bytes(), Image=PIP_SERVER)
    ask(runtime, "lone")
    labels = {"target_model": "lone.tar.gz", "step": "second"}
    wait_until(lambda: values_of(samples(local, "lone"), "fused_step_requests_total", **labels) == [1])
    wait_until(lambda: ("lone.tar.gz", "second") in rows_of(local, "lone"))
