"""What Triton leaves in /tmp, as a user of boto3 sees it: on the status page, in /metrics, and in CloudWatch."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

from tests.endpoint.conftest import Deployer
from tests.endpoint.hosting import archives
from tests.endpoint.test_metrics import one, samples
from tests.triton.test_server import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint

MIB = 1 << 20
Put = Callable[[str, Any], None]
Refused = Callable[..., tuple[str, str]]


def test_an_unpacked_environment_is_shown_wherever_the_disk_is(
    deployer: Deployer, local: LocalEndpoint, runtime: Any, put: Put
) -> None:
    put("leaks/one.tar.gz", archives.with_environment(archives.model(), megabytes=32))
    model = deployer.model("leaks", MultiModelConfig={"ModelCacheSetting": "Disabled"})
    deployer.endpoint("leaks", deployer.config("leaks", model))
    call = {"EndpointName": "leaks", "TargetModel": "leaks/one.tar.gz", "Body": archives.body(1)}
    runtime.invoke_endpoint(**call)["Body"].read()

    def left() -> bool:
        """Whether the model is deleted: then only its environment is on the disk."""
        utilization = one(samples(local, "leaks"), "sagemaker_DiskUtilization_percent", instance="0")
        return 0.09 < utilization < 0.11  # 32 MiB of 32 GiB

    wait_until(left)
    found = samples(local, "leaks")
    assert 32 * MIB <= one(found, "sagemaker_UnpackedEnvironments_bytes", instance="0") < 33 * MIB
    with urllib.request.urlopen(local.url) as reply:
        html = reply.read().decode()
    assert "32 MiB of it in /tmp" in html
    names = {each["MetricName"] for each in local.client("cloudwatch").list_metrics()["Metrics"]}
    assert "DiskUtilization" in names and "UnpackedEnvironments" not in names


def test_one_damaged_environment_poisons_the_endpoint(
    deployer: Deployer, local: LocalEndpoint, runtime: Any, put: Put, refused: Refused
) -> None:
    files = archives.with_environment(archives.model())
    damaged = files["identity/env.tar.gz"][: MIB // 2]
    put("poison/bad.tar.gz", files | {"identity/env.tar.gz": damaged})
    put("poison/good.tar.gz", files)
    deployer.multi_model("poison")
    messages = []
    for target in ("poison/bad.tar.gz", "poison/good.tar.gz"):
        call = {"EndpointName": "poison", "TargetModel": target, "Body": archives.body(1)}
        code, message = refused(runtime.invoke_endpoint, **call)
        assert code == "ModelError"
        messages.append(message)
    assert "archive_read_data_block() failed" in messages[0]
    assert "Failed to create environment directory for '/tmp/python_env_" in messages[1]
