"""The keys of archives in S3, both ways."""

import pytest

from triton_ensembles.deploy.keys import archive_key, archive_names, has_digest


@pytest.mark.parametrize("name", ["bert_trt", "a-b", "x-0123456789ab", "ünï"])
def test_a_key_tells_its_name(name: str) -> None:
    """Otherwise `invoke NAME` finds no archive, and undeploy leaves uploads behind."""
    key = archive_key(name, "3009f6f36df9" + 52 * "0")
    assert key == f"{name}-3009f6f36df9.tar.gz"
    assert has_digest(key) and name in archive_names(key)


@pytest.mark.parametrize("key", ["plain.tar.gz", "team/plain.tar.gz", "x-0123.tar.gz", "x-0123456789ab.zip", ".tar.gz"])
def test_others_have_no_digest(key: str) -> None:
    assert not has_digest(key)
