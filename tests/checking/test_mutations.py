"""Good repositories, changed at random: the checker never fails, and the real server agrees with it."""

import shutil
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.configs import changed, messages, mutated
from tests.checking.packing import folder_faults
from triton_ensembles.checking.examples import Y, ensemble, python_model, step
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import format_config, parse_config

ENSEMBLE = ensemble(
    step("scale", {"X": "X"}, {"Y": "scaled"}),
    step("join", {"A": "scaled", "B": "X"}, {"SUM": "sum", "MEAN": "Z"}),
    step("whole", {"X": "sum"}, {"Y": "Y"}),
    outputs=f'{Y}, {{ name: "Z", data_type: TYPE_FP32, dims: [ 1 ] }}',
)
MODEL = python_model(
    "dynamic_batching { preferred_batch_size: [ 4, 8 ], priority_levels: 2, default_priority_level: 1, "
    "priority_queue_policy { key: 1, value { timeout_action: DELAY, default_timeout_microseconds: 5 } } }",
    "instance_group [ { count: 1, kind: KIND_CPU } ]",
    "response_cache { enable: true }",
    'batch_input [ { kind: BATCH_ITEM_SHAPE, target_name: "SIZES", data_type: TYPE_INT32, source_input: "X" } ]',
    "version_policy { latest { num_versions: 1 } }",
    "model_transaction_policy { decoupled: false }",
    'metric_tags { key: "team", value: "search" }',
    inputs='{ name: "X", data_type: TYPE_FP32, dims: [ 4 ], reshape { shape: [ 2, 2 ] }, optional: false }',
)
CHANGED = [changed(parse_config(text, "")) for text in (ENSEMBLE, MODEL)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(mutated(ENSEMBLE), mutated(MODEL), st.text(), st.one_of(*CHANGED, messages()).map(format_config)),
    st.sampled_from(["1", "01", "-1", "1.0", "99999999999999999999", "x", "configs"]),
)
def test_the_checker_never_fails(tmp_path: Path, text: str, version: str) -> None:
    """Otherwise odd input makes a rule crash: its own fault then says so and asks to report it."""
    shutil.rmtree(tmp_path / "models", ignore_errors=True)
    stage(Example(text, {f"{version}/model.py": "x = 1\n"}), tmp_path / "models", "model")
    for fault in folder_faults(tmp_path / "models", Destination(device="cpu")):
        assert not fault.message.startswith("this rule itself failed"), fault
