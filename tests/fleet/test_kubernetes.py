"""``export kubernetes``: manifests against Kubernetes' own schemas."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.fleet.test_haproxy import check, exported
from tests.measuring.planning.synthetic import profile
from triton_ensembles.commands.host import host
from triton_ensembles.measuring.profiling.profile import write_profile

GIVEN = ["models", "s3://bucket/models", "--image", "registry/host:1"]
VERSIONS = ("1.28", "1.31", "1.37")  # of Kubernetes


def manifests(*arguments: str) -> dict[tuple[str, str], Any]:
    """What the command prints, by kind and name. Raises what it raises."""
    documents = list(yaml.safe_load_all(exported("kubernetes", *arguments)))
    found = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(found) == len(documents)
    return found


def container(found: dict[tuple[str, str], Any], name: str) -> Any:
    (only,) = found["Deployment", name]["spec"]["template"]["spec"]["containers"]
    return only


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--service-account", "s3.reader", "--token-secret", "host-token", "--hosts", "4", "--cpus", "0.5"],
        ["--", "--pin", 'it\'s "{{ odd }}" & <b>: #', "--server", "/opt/tritonserver"],
    ],
    ids=["plain", "options", "of-host"],
)
def test_kubernetes_takes_the_manifests(more: list[str], tmp_path: Path) -> None:
    """Otherwise `kubectl apply` refuses them, or HAProxy the config in them."""
    found = manifests(*GIVEN, *more)
    assert {kind for kind, _ in found} == {
        *("Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget", "ConfigMap")
    }
    for document in found.values():
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
    assert check(found["ConfigMap", "models"]["data"]["haproxy.cfg"], tmp_path) == ""


def test_each_part_finds_the_others() -> None:
    """Otherwise a Service has no pods, or the autoscaler and the budget are of nothing."""
    found = manifests(*GIVEN, "--most-hosts", "5")
    for name in ("models", "models-hosts"):
        labels = found["Deployment", name]["spec"]["template"]["metadata"]["labels"]
        assert found["Deployment", name]["spec"]["selector"]["matchLabels"] == labels
        assert found["Service", name]["spec"]["selector"] == labels
        assert found["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"] == labels
        ports = {port["name"] for port in container(found, name)["ports"]}
        assert {port["targetPort"] for port in found["Service", name]["spec"]["ports"]} <= ports
    assert found["HorizontalPodAutoscaler", "models-hosts"]["spec"]["scaleTargetRef"]["name"] == "models-hosts"
    config = found["ConfigMap", "models"]["data"]["haproxy.cfg"]
    assert 'host 1-6 "models-hosts.${NAMESPACE}.svc.cluster.local:8000"' in config  # and one of a rollout


def test_the_host_takes_its_command_line() -> None:
    """Otherwise every pod ends at its start with a line of usage."""
    found = manifests(*GIVEN, "--token-secret", "t", "--memory-budget", "1.5G", "--", "--pin", "a", "--preload", "last")
    command, *arguments = container(found, "models-hosts")["args"]
    assert command == host.name
    parsed = host.make_context("host", list(arguments)).params
    assert (parsed["source"], parsed["memory_budget"], parsed["bind"]) == ("s3://bucket/models", 3 << 29, "0.0.0.0")
    assert (parsed["http_port"], list(parsed["pin"])) == (8000, ["a"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container(found, "models-hosts")["volumeMounts"]}
    assert str(parsed["token_file"].parent) == mounts["token"]
    assert str(parsed["root"]).startswith(mounts["work"])


def test_a_profile_gives_the_budget(tmp_path: Path) -> None:
    """Otherwise pods have room for another number of models or requests than was asked for."""
    measured = profile()
    write_profile(measured, tmp_path / "profile.json")
    many = str(measured.loaded[-1].models)
    found = manifests(*GIVEN, "--profile", str(tmp_path / "profile.json"), "--loaded", many, "--rate", "100")
    arguments = container(found, "models-hosts")["args"]
    megabytes = int(arguments[arguments.index("--memory-budget") + 1].removesuffix("M"))
    expected = measured.server.bytes + measured.loaded[-1].memory.bytes
    assert megabytes == pytest.approx(expected / 2**20, abs=1)
    cpus = float(container(found, "models-hosts")["resources"]["limits"]["cpu"])
    assert cpus == pytest.approx(100 * measured.answers[0].core_seconds / 0.7, rel=0.01)


def test_pods_may_do_little() -> None:
    """Otherwise whoever gets into a pod writes to its image, is root, or calls Kubernetes."""
    found = manifests(*GIVEN)
    for name in ("models", "models-hosts"):
        pod = found["Deployment", name]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        confined = container(found, name)["securityContext"]
        assert confined["readOnlyRootFilesystem"]
        assert confined["capabilities"] == {"drop": ["ALL"]}
        assert set(container(found, name)["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["Models", *GIVEN[1:]], "no Service of the name 'Models'"),
        (["1st", *GIVEN[1:]], "no Service of the name"),
        (["a_b", *GIVEN[1:]], "no Service of the name"),
        (["a-", *GIVEN[1:]], "no Service of the name"),
        (["a\n", *GIVEN[1:]], "no Service of the name"),
        (["a" * 58, *GIVEN[1:]], "no Service of the name"),
        (["models", "bucket/models", *GIVEN[2:]], "is no S3 prefix"),
        (["models", "s3://", *GIVEN[2:]], "is no S3 prefix"),
        (["models", "s3://bucket/a b", *GIVEN[2:]], "is no S3 prefix"),
        ([*GIVEN[:2], "--image", ""], "--image: '' is no image"),
        ([*GIVEN[:2], "--image", "a b"], "is no image"),
        ([*GIVEN, "--hosts", "9"], "--most-hosts 8 is less than --hosts 9"),
        ([*GIVEN, "--token-secret", "A"], "--token-secret: Kubernetes allows no name"),
        ([*GIVEN, "--service-account", "a/b"], "--service-account: Kubernetes allows no name"),
        ([*GIVEN, "--", "--bind=::"], "--bind=:: is the manifests' own"),
        ([*GIVEN, "--profile", "nowhere.json", "--loaded", "3"], "no file 'nowhere.json'"),
    ],
)
def test_what_kubernetes_does_not_allow_is_refused(arguments: list[str], sentence: str) -> None:
    """Otherwise it is refused after half of it has been applied."""
    with pytest.raises(Exception, match=sentence):
        manifests(*arguments)
