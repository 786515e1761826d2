"""Names of models, on the real tritonserver: which of them a Python model, or a client, cannot have."""

from pathlib import Path

import tritonclient.grpc
import tritonclient.http

from tests.checking.packing import MODEL_PY, ensemble_of, python_step
from tests.running import serving
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.server.triton_server import TritonServer

# The last ones load today and are refused since 25.08, or clients have to escape them.
ALIVE = {"a-1.b_c": set(), **{name: {"python-model-name-future"} for name in ("a~b", "a{b", "a!", "a$")}}
ALIVE |= {"a+b": {"model-name-in-url"}, "a=b:c": {"model-name-in-url"}}


def test_names_that_a_shell_leaves_alone_load(tmp_path: Path) -> None:
    """Otherwise the checker refuses what Triton loads, or warns of names that HTTP clients reach."""
    models = tmp_path / "models"
    for name in ALIVE:
        stage(Example(python_step(), {"1/model.py": MODEL_PY}), models, name)
    stage(Example(ensemble_of("a!")), models, "mine & yours")
    found: dict[str, set[str]] = {name: set() for name in ALIVE}
    for fault in check([models]).faults:
        assert fault.severity.value == "warning"
        found.setdefault(Path(fault.place.path).name, set()).add(fault.rule)
    assert found == {**ALIVE, "a!": {"python-model-name-future"}, "mine & yours": {"model-name-in-url"}}
    with serving(TritonServer([models], log=tmp_path / "log")) as server:
        grpc = tritonclient.grpc.InferenceServerClient(server.grpc_url)
        http = tritonclient.http.InferenceServerClient(server.http_url)
        assert all(grpc.is_model_ready(name) for name in found)
        reached = {name for name in found if http.is_model_ready(name)}
        http.close()
        grpc.close()
    assert reached == {"a-1.b_c", "a~b"}


def test_the_path_of_a_repository_counts(tmp_path: Path) -> None:
    """Otherwise no Python model of a folder called 'my models' ever loads, and nothing says why."""
    stage(Example(python_step(), {"1/model.py": MODEL_PY}), tmp_path / "my models", "step")
    (fault,) = check([tmp_path / "my models"]).faults
    assert (fault.rule, fault.severity.value) == ("repository-path-in-shell", "warning")
