"""Which tests ``make test`` leaves to ``make test-rest``, and which files begin first.

``make test`` has each part of the project, also against the real server. What takes long and is about one corner of a
part, or makes large files, waits for the second half of ``make test-all``.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SLOW = (
    "artifacts/test_dali_pipeline.py",
    "artifacts/test_graphdef_onnx.py",
    "ensembles/test_resnet50.py",
    "runtime/backends/test_aoti_package.py",
    "benchmarks/test_bench.py",
    "benchmarks/test_reference.py",
    "benchmarks/test_servers.py",
    "benchmarks/test_soak.py",
    "building/test_build.py::test_building_again_from_nothing_gives_the_same_bytes",
    "building/test_build.py::test_pretrained_weights_that_are_not_available_fail_the_build_by_name",
    "building/made/test_environments_served.py",
    "checking/test_fidelity.py",
    "checking/test_parity.py::test_the_real_server_hangs_or_dies",
    "checking/rules/sagemaker/test_served.py",
    "checking/test_archive_cases.py::test_sagemakers_front_end_does_what_the_case_says",
    "deploy/test_fused_in_images.py",
    "deploy/test_local_endpoint.py::test_the_example_runs",
    "deploy/test_single_model.py::test_what_a_single_model_endpoint_takes_answers_without_a_target_model",
    "deploy/test_single_model.py::test_an_ensemble_whose_step_calls_is_built_proven_and_served_for_this_mode_alone",
    "docs/test_pytest.py",
    "docs/test_python.py",
    "endpoint/hosting/test_chaos.py",
    "endpoint/hosting/test_container_python.py",
    "endpoint/hosting/test_environments.py",
    "endpoint/hosting/test_loads_beside_each_other.py",
    "endpoint/hosting/test_model_processes.py",
    "endpoint/test_page.py",
    "endpoint/test_runtime.py::test_a_client_that_does_not_read_its_answer_does_not_hold_the_model_for_ever",
    "endpoint/test_hosting_modes.py::test_tritons_metrics_come_into_the_namespace_that_the_variables_name",
    "ensembles/test_gateway_ensembles.py",
    "ensembles/test_resnet_pytorch.py",
    "ensembles/test_sagemaker.py",
    "ensembles/test_yolov5.py",
    "artifacts/environment/test_for_python.py",
    "artifacts/environment/test_packed.py",
    "artifacts/environment/test_rattler.py",
    "measuring/perf/test_measure.py::test_a_short_sweep_of_all",
    "measuring/perf/test_measure.py::test_windows_are_lengthened_until_requests_are_answered",
    "measuring/planning/test_observed.py",
    "pytest_plugin/test_example_project.py",
    "artifacts/tensorrt/test_gpu_archive.py",
    "artifacts/tensorrt/test_plans.py",
    "strangers/test_from_the_wheel.py",
    "test_core.py",
    "project/test_location.py",
    "test_wheel.py",
    "triton/test_load_failures_served.py",
)

# Several workers share the files (pytest -n N --dist loadfile): those that take longest begin first, so that none of
# them is left to one worker at the end.
LONGEST = (
    "strangers/test_from_the_wheel.py",
    "building/test_build.py",
    "artifacts/test_graphdef_onnx.py",
    "checking/test_parity.py",
    "runtime/backends/test_pytorch.py",
    "deploy/test_local_endpoint.py",
    "docs/test_python.py",
    "ensembles/test_gateway_ensembles.py",
    "commands/test_any_repository.py",
    "starter/test_small_ensemble.py",
    "starter/test_from_repository.py",
    "serving/watching/test_watch.py",
    "gateway/test_gateway_served.py",
    "pytest_plugin/test_example_project.py",
    "pytest_plugin/test_servers.py",
    "pytest_plugin/test_endpoints.py",
    "artifacts/environment/test_packed.py",
    "endpoint/hosting/test_eviction.py",
    "measuring/perf/test_measure.py",
    "building/made/test_environments_served.py",
    "artifacts/environment/test_wheels.py",
    "checking/rules/sagemaker/test_served.py",
    "checking/test_archive_cases.py",
    "checking/test_scale.py",
    "commands/test_deploy.py",
    "artifacts/tensorrt/test_plans.py",
    "triton/test_stubs.py",
    "ensembles/test_resnet50.py",
    "endpoint/test_command.py",
    "endpoint/hosting/test_model_cache.py",
    "endpoint/hosting/test_faults.py",
    "triton/test_server.py",
    "benchmarks/test_servers.py",
    "runtime/fused/test_faults.py",
)


def mark_slow(items: list[pytest.Item]) -> None:
    """Give the marker ``slow`` to those of :data:`SLOW`."""
    for entry in SLOW:
        if not (TESTS / entry.partition("::")[0]).is_file():
            raise pytest.UsageError(f"tests/tiers.py names {entry}, which does not exist")
    for item in items:
        file = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
        name = item.originalname if isinstance(item, pytest.Function) else item.name
        if file in SLOW or f"{file}::{name}" in SLOW:
            item.add_marker("slow")


def sort(items: list[pytest.Item]) -> None:
    """In place: the files of :data:`LONGEST` first."""
    first = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path, len(LONGEST)))
