"""An endpoint's number of instances, which UpdateEndpointWeightsAndCapacities changes."""

import threading
from typing import Any

from tests.endpoint.conftest import Deployer, ask, in_service, refused
from tests.processes import started_by, wait_until
from triton_ensembles.endpoint.local import LocalEndpoint

VARIANT = "AllTraffic"


def counts(sagemaker: Any, name: str) -> tuple[int, int]:
    (variant,) = sagemaker.describe_endpoint(EndpointName=name)["ProductionVariants"]
    return variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]


def settle(sagemaker: Any, name: str) -> tuple[int, int]:
    in_service(sagemaker, name)
    return counts(sagemaker, name)


def test_instances_come_and_go_while_the_endpoint_answers(
    deployer: Deployer, shared: str, local: LocalEndpoint, sagemaker: Any, runtime: Any
) -> None:
    deployer.multi_model("sized")
    answers: list[list[float]] = []
    ended = threading.Event()

    def ask_on() -> None:
        while not ended.is_set():
            answers.append(ask(runtime, "sized", "one.tar.gz", 1))

    def change(count: int) -> None:
        share = {"VariantName": VARIANT, "DesiredInstanceCount": count}
        sagemaker.update_endpoint_weights_and_capacities(EndpointName="sized", DesiredWeightsAndCapacities=[share])
        assert counts(sagemaker, "sized")[1] == count
        assert settle(sagemaker, "sized") == (count, count)
        wait_until(lambda: len(started_by(local.pid, "/tritonserver ", ".sized.")) == count)

    ask(runtime, "sized", "one.tar.gz", 1)  # the model is loaded
    thread = threading.Thread(target=ask_on)
    thread.start()
    try:
        change(3)
        change(1)
    finally:
        ended.set()
        thread.join()
    assert answers and all(answer == [1] for answer in answers)

    change(2)
    update: dict[str, Any] = {"EndpointName": "sized", "EndpointConfigName": "sized"}
    sagemaker.update_endpoint(**update, RetainAllVariantProperties=True)
    assert settle(sagemaker, "sized") == (2, 2)
    sagemaker.update_endpoint(**update)
    assert settle(sagemaker, "sized") == (1, 1)

    for share, words in (
        ({"VariantName": "Other"}, "has no variant"),
        ({"VariantName": VARIANT, "DesiredInstanceCount": 0}, "is 0"),
        ({"VariantName": VARIANT, "DesiredWeight": 0.0}, "weight of every production variant would be 0"),
    ):
        call = {"EndpointName": "sized", "DesiredWeightsAndCapacities": [share]}
        code, message = refused(sagemaker.update_endpoint_weights_and_capacities, **call)
        assert (code, words in message) == ("ValidationException", True)
