"""Archives on the real tritonserver 2.51.0, through SageMaker's own routes: what archive_cases/ cannot say."""

import sys
from pathlib import Path

import pytest

from tests.checking.endpoint import Endpoint
from tests.checking.packing import MODEL_PY, members, rules, write
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.built import Built

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the environment is of Python 3.11, as the stub must be")
def test_an_import_that_the_environment_lacks(endpoint: Endpoint, built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise the rule about imports looks for packages in the wrong place."""
    write_archive(built["bert_trt"].repository / "bert_trt.preprocess" / "environment", tmp_path / "env.tar.gz")
    about = {"environment-python", "environment-tar"}
    archives = []
    for name, package in (("good", "tokenizers"), ("bad", "pandas")):
        files = members(name, "$$TRITON_MODEL_DIRECTORY/env.tar.gz", f"import {package}\n{MODEL_PY}")
        files[f"{name}.step/env.tar.gz"] = (tmp_path / "env.tar.gz").read_bytes()
        archives.append(write(tmp_path / f"{name}.tar.gz", files))
    good, bad = archives
    assert endpoint.load(good)[0] == 200
    assert rules(good) <= about
    status, body = endpoint.load(bad)
    assert status == 400 and "No module named 'pandas'" in body
    assert rules(bad) | about == {*about, "environment-import-missing"}


def test_shared_steps_are_loaded_again(endpoint: Endpoint, tmp_path: Path) -> None:
    """Otherwise the checker reports archives that may share the names of their steps."""
    first, second = (write(tmp_path / f"{name}.tar.gz", members("shared")) for name in ("first", "second"))
    assert endpoint.load(first)[0] == 200
    loading = f"loading: {endpoint.url}::shared.step:1"
    assert endpoint.log.count(loading) == 1
    assert endpoint.load(second)[0] == 200
    assert endpoint.log.count(loading) == 2
    assert rules(first, second) == {"endpoint-shared-step"}


def test_one_target_model_twice_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    """Otherwise the checker reports two models of one name that an endpoint accepts."""
    assert endpoint.load(write(tmp_path / "1" / "same.tar.gz", members("same1")))[0] == 200
    status, body = endpoint.load(write(tmp_path / "2" / "same.tar.gz", members("same2")))
    assert status == 409 and "conflicting mapping" in body
