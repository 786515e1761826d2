"""Archives say themselves what they were built for, so deploy needs no flags."""

import pytest

from tests.deploy.conftest import MakeArchive
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.placement import chosen_image, chosen_instance, common_target
from triton_ensembles.ground.errors import EnsembleError

REGION = "us-east-1"


def test_what_archives_do_not_say_is_that_of_the_target(make_archive: MakeArchive) -> None:
    """Archives of other tools have no manifest."""
    foreign, fused = make_archive("foreign", weights=""), make_archive("fused", target="fused", image="", instance="")
    assert common_target([foreign], "gpu") == "gpu"
    assert chosen_instance([foreign], "gpu") == "ml.g4dn.xlarge"
    assert chosen_image([foreign], "gpu", REGION, "ml.g4dn.xlarge").endswith(":24.09-py3")
    assert chosen_image([foreign], "cpu", REGION, "ml.c5.xlarge") == PIP_SERVER
    assert chosen_instance([fused], "fused") == "ml.m5.xlarge"
    assert chosen_image([fused], "fused", REGION, "ml.m5.xlarge") == PIP_SERVER


@pytest.mark.parametrize(
    ("default", "image"),
    [
        ("24.05", "sagemaker-tritonserver:24.05-py3"),
        ("nvcr.io/nvidia/tritonserver:24.05-py3", "sagemaker-tritonserver:24.05-py3"),
        ("registry.example.com/triton:24.05-ours", "registry.example.com/triton:24.05-ours"),
    ],
)
def test_a_default_of_the_project_is_for_archives_that_say_nothing(
    default: str, image: str, make_archive: MakeArchive
) -> None:
    foreign, own = make_archive("foreign", weights=""), make_archive("own", target="fused", image="24.09")
    here = make_archive("here", target="cpu", image="", instance="")
    assert chosen_image([foreign], "gpu", REGION, "ml.g4dn.xlarge", default).endswith(image)
    assert chosen_image([own], "fused", REGION, "ml.g4dn.xlarge", default).endswith(":24.09-py3")
    assert chosen_image([here], "cpu", REGION, "ml.c5.xlarge", default) == PIP_SERVER
    assert chosen_instance([foreign], "gpu", "ml.g5.xlarge") == "ml.g5.xlarge"


def test_archives_that_disagree_are_named(make_archive: MakeArchive) -> None:
    """An endpoint has one image and one instance type; each archive is named with what it was built for."""
    one = make_archive("one", target="fused", image="24.09", instance="ml.m5.xlarge")
    two = make_archive("two", target="fused", image="25.04", instance="ml.c7i.xlarge")
    here = make_archive("here", target="fused", image="")
    with pytest.raises(EnsembleError, match=r"different images: one for 24\.09, two for 25\.04; .*--image"):
        chosen_image([one, two], "fused", REGION, "ml.m5.xlarge")
    with pytest.raises(EnsembleError, match=r"different images: one for 24\.09, here for the server on this machine"):
        chosen_image([one, here], "fused", REGION, "ml.m5.xlarge")
    with pytest.raises(EnsembleError, match=r"types: one for ml\.m5\.xlarge, two for ml\.c7i\.xlarge; .*--instance"):
        chosen_instance([one, two], "fused")


def test_archives_of_several_targets_need_the_option(make_archive: MakeArchive) -> None:
    """The target decides what check expects of them."""
    gpu, fused = make_archive("a", target="gpu", image="24.09"), make_archive("b", target="fused", image="24.09")
    with pytest.raises(EnsembleError, match="different targets: a for gpu, b for fused; choose one with --target"):
        common_target([gpu, fused], "cpu")
    assert common_target([gpu, fused], "gpu") == "gpu"
