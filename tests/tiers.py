"""Which tests ``make test`` leaves to ``make test-rest``, and which files begin first.

``make test`` has each part of the project, also against the real server. What takes long and is about one corner of a
part, or makes large files, waits for the second half of ``make test-all``.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SLOW = (
    "artifacts/environment/test_for_python.py",
    "artifacts/environment/test_packed.py",
    "artifacts/environment/test_rattler.py",
    "artifacts/environment/test_wheels.py",
    "artifacts/tensorrt/test_gpu_archive.py",
    "artifacts/tensorrt/test_plans.py",
    "artifacts/test_dali_pipeline.py",
    "artifacts/test_graphdef_onnx.py",
    "benchmarks/test_reference.py",
    "benchmarks/test_servers.py",
    "benchmarks/test_soak.py",
    "building/made/test_environments_served.py",
    "building/made/test_fused_packages.py::test_a_package_is_imported_without_what_is_left_out",
    "building/test_build.py::test_building_again_from_nothing_gives_the_same_bytes",
    "building/test_chain_variants.py::test_a_fused_ensemble_also_leaves_the_requests_out",
    "building/variants/test_served.py::test_a_fused_variant_has_files_and_parameters_of_its_own",
    "checking/rules/model_files/test_torchscript_served.py",
    "checking/rules/sagemaker/test_served.py",
    "checking/test_archive_cases.py::test_sagemakers_front_end_does_what_the_case_says",
    "checking/test_fidelity.py",
    "checking/test_parity.py::test_the_real_server_hangs_or_dies",
    "checking/test_scale.py",
    'checking/test_text_causes.py::test_any_value_may_be_unreadable["${x}"]',
    "checking/test_text_causes.py::test_any_value_may_be_unreadable[TYPE_${x}]",
    "commands/test_any_repository.py::test_a_path_whose_models_do_not_answer_is_loaded_but_not_proven",
    "commands/test_tune.py::test_ctrl_c_prints_the_best_so_far_and_leaves_nothing",
    "comparing/test_comparison.py::test_a_fused_clone_has_the_packages_of_its_original",
    "deploy/test_fused_in_images.py",
    "deploy/test_local_endpoint.py::test_all_ensembles_from_upload_to_undeploy",
    "deploy/test_local_endpoint.py::test_an_update_that_fails_leaves_the_old_configuration_serving",
    "deploy/test_local_endpoint.py::test_the_example_runs",
    "deploy/test_single_model.py::test_an_ensemble_whose_step_calls_is_built_proven_and_served_for_this_mode_alone",
    "deploy/test_single_model.py::test_what_a_single_model_endpoint_takes_answers_without_a_target_model",
    "docs/test_python.py",
    "endpoint/hosting/test_call_order.py::test_no_request_fails_because_another_model_is_loaded",
    "endpoint/hosting/test_chaos.py",
    "endpoint/hosting/test_container_python.py",
    "endpoint/hosting/test_environments.py",
    "endpoint/hosting/test_eviction.py::test_a_server_that_grows_beyond_its_budget_loses_idle_models",
    "endpoint/hosting/test_loads_beside_each_other.py",
    "endpoint/hosting/test_model_processes.py",
    "endpoint/test_command.py::test_a_signal_lets_running_requests_end_and_leaves_nothing_but_logs[2]",
    "endpoint/test_hosting_modes.py::test_tritons_metrics_come_into_the_namespace_that_the_variables_name",
    "endpoint/test_metrics.py::test_an_unpacked_environment_is_shown_wherever_the_disk_is",
    "endpoint/test_page.py",
    "endpoint/test_wire.py::test_a_client_that_does_not_read_holds_no_model",
    "ensembles/test_bert_base_model.py::test_openvino_takes_it_in_int8",
    "ensembles/test_bert_trt.py::test_http_json_http_binary_and_grpc_give_the_same_answer[64]",
    "ensembles/test_gateway_ensembles.py",
    "ensembles/test_resnet50.py",
    "ensembles/test_resnet_pytorch.py",
    "ensembles/test_sagemaker.py",
    "ensembles/test_yolov5.py",
    "gateway/test_container.py::test_a_step_that_has_ended_makes_the_container_unhealthy",
    "gpu/test_proof.py",
    "measuring/perf/test_measure.py::test_a_server_that_ends_under_load_is_reported",
    "measuring/perf/test_measure.py::test_a_short_sweep_of_two",
    "measuring/perf/test_measure.py::test_windows_are_lengthened_until_requests_are_answered",
    "measuring/perf/test_slowest.py",
    "measuring/planning/test_observed.py",
    "measuring/profiling/test_measure.py::test_what_a_copy_keeps_of_its_largest_batch_is_measured",
    "project/test_location.py",
    "pytest_plugin/test_endpoints.py::test_no_test_sees_what_another_has_created_or_what_the_user_has_of_aws",
    "pytest_plugin/test_endpoints.py::test_what_an_endpoint_that_runs_already_holds_stays",
    "pytest_plugin/test_example_project.py",
    "pytest_plugin/test_servers.py::test_no_server_outlives_the_tests[2]",
    "runtime/backends/test_aoti_package.py",
    "runtime/backends/test_pytorch.py::test_threads_and_memory",
    "runtime/fused/test_fork_server.py::test_a_fork_server_outlives_the_files_of_the_first_ensemble",
    "runtime/fused/test_fork_server.py::test_engines_are_shared_too",
    "runtime/fused/test_fork_server.py::test_nothing_outlives_a_killed_server",
    "runtime/fused/test_fork_server.py::test_what_is_not_proven_is_not_shared",
    "runtime/fused/test_idle_memory.py",
    "runtime/fused/test_parity.py::test_fused_dags_answer_as_drawn[18]",
    "runtime/fused/test_parity.py::test_requests_that_come_together_get_the_answers_that_they_get_alone[18]",
    "serving/test_running.py::test_a_model_that_hangs_or_dies_does_not_hide_what_others_do",
    "starter/test_small_ensemble.py::test_it_builds_and_passes_its_own_tests",
    "strangers/test_from_the_wheel.py",
    "test_core.py",
    "test_fuzz.py",
    "test_wheel.py",
    "server/test_home.py::test_a_damaged_home_is_made_again_and_a_whole_one_is_kept",
    "server/test_installed.py::test_commands_start_the_server_that_they_are_told_to",
    "server/test_load_failures_served.py",
    "server/test_stubs.py::test_a_damaged_one_is_made_again",
)

# Several workers share the files (pytest -n N --dist loadfile): those that take longest begin first, so that none of
# them is left to one worker at the end.
LONGEST = (
    "strangers/test_from_the_wheel.py",
    "checking/test_cases.py",
    "runtime/fused/test_fork_server.py",
    "artifacts/test_int8_onnx.py",
    "endpoint/hosting/test_eviction.py",
    "checking/test_fidelity.py",
    "commands/test_any_repository.py",
    "ensembles/test_gateway_ensembles.py",
    "deploy/test_single_model.py",
    "artifacts/tensorrt/test_gpu_archive.py",
    "building/test_build.py",
    "ensembles/test_resnet50.py",
    "serving/test_running.py",
    "artifacts/environment/test_packed.py",
    "measuring/profiling/test_measure.py",
    "deploy/test_fused_in_images.py",
    "pytest_plugin/test_servers.py",
    "checking/test_parity.py",
    "deploy/test_local_endpoint.py",
    "artifacts/environment/test_for_python.py",
    "runtime/backends/test_tensorflow.py",
    "checking/test_archive_cases.py",
    "server/test_server.py",
    "artifacts/environment/test_rattler.py",
    "endpoint/test_command.py",
    "measuring/perf/test_measure.py",
    "endpoint/test_page_with_many_models.py",
    "artifacts/test_graphdef_onnx.py",
    "pytest_plugin/test_endpoints.py",
    "checking/test_scale.py",
    "building/variants/test_variants.py",
)


def without_quick(path: Path) -> bool:
    """All tests of this file are slow: ``make test`` need not import it, nor the frameworks that it imports."""
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix() in SLOW


def mark_slow(items: list[pytest.Item]) -> None:
    """Give the marker ``slow`` to those of :data:`SLOW`."""
    for entry in SLOW:
        if not (TESTS / entry.partition("::")[0]).is_file():
            raise pytest.UsageError(f"tests/tiers.py names {entry}, which does not exist")
    for item in items:
        file = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
        name = item.originalname if isinstance(item, pytest.Function) else item.name
        if not {file, f"{file}::{name}", f"{file}::{item.name}"}.isdisjoint(SLOW):
            item.add_marker("slow")


def sort(items: list[pytest.Item]) -> None:
    """In place: the files of :data:`LONGEST` first."""
    first = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path, len(LONGEST)))
