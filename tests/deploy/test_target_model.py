"""A name without a digest stands for one archive of the endpoint."""

from dataclasses import replace

import pytest

from tests.deploy.conftest import DESIRED
from triton_ensembles.deploy import target_model
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.target_model import EndpointArchives
from triton_ensembles.ground.errors import EnsembleError


def store(aws: Aws, place: S3Prefix, *keys: str) -> None:
    """Deploy the endpoint ``e``, whose bucket has these objects, one put there after the other."""
    aws.s3.create_bucket(Bucket=place.bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    deploy_endpoint(aws, replace(DESIRED, name="e", url=place.url), print, 60)
    for key in keys:
        aws.s3.put_object(Bucket=place.bucket, Key=place.folder + key, Body=b"archive")


def test_the_only_one(aws: Aws, place: S3Prefix) -> None:
    odd = "ünï-0123456789ab"
    names = ("bert_trt-3009f6f36df9", "bert_trt-large-3009f6f36df9", "team/plain", odd)
    store(aws, place, *(f"{name}.tar.gz" for name in names))
    assert EndpointArchives(aws, "e").key(odd) == EndpointArchives(aws, "e").key("ünï") == f"{odd}.tar.gz"
    assert EndpointArchives(aws, "e").key("bert_trt") == "bert_trt-3009f6f36df9.tar.gz"
    assert EndpointArchives(aws, "e").key("team/plain") == "team/plain.tar.gz"


def test_of_several_the_one_in_dist_or_the_newest(aws: Aws, place: S3Prefix, monkeypatch: pytest.MonkeyPatch) -> None:
    store(aws, place, "bert_trt-000000000000.tar.gz", "bert_trt-ffffffffffff.tar.gz")
    times = {"bert_trt-ffffffffffff.tar.gz": {"LastModified": 1}, "bert_trt-000000000000.tar.gz": {"LastModified": 2}}
    monkeypatch.setattr(target_model, "stored_archives", lambda *_: times)
    assert EndpointArchives(aws, "e").key("bert_trt") == "bert_trt-000000000000.tar.gz"
    built = "bert_trt-ffffffffffff.tar.gz"
    assert EndpointArchives(aws, "e").key("bert_trt", built) == built
    assert EndpointArchives(aws, "e").key("bert_trt", "bert_trt-aaaaaaaaaaaa.tar.gz") == "bert_trt-000000000000.tar.gz"


def test_none_is_refused_with_what_there_is(aws: Aws, place: S3Prefix) -> None:
    store(aws, place, "bert_trt-3009f6f36df9.tar.gz")
    with pytest.raises(EnsembleError, match=r"e has no archive of 'bert'; upload it; it has bert_trt-3009f6f36df9"):
        EndpointArchives(aws, "e").key("bert")
    with pytest.raises(EnsembleError, match="the endpoint other does not exist"):
        EndpointArchives(aws, "other").key("bert_trt")
