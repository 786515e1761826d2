"""The fixture triton_server in a project of someone's own: the real server, its log, its end."""

import os
import re
import signal
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.core import PROJECT, SITECUSTOMIZE, distributions, modules_without
from tests.files import write_files
from tests.hosting import archives
from tests.processes import wait_until
from tests.pytest_plugin.conftest import Run
from tests.running import running

_ASK = """
import os, signal
import numpy as np
import pytest
import tritonclient.http as http

def ask(server, shape=(1, 3)):
    tensor = http.InferInput("X", shape, "FP32").set_data_from_numpy(np.ones(shape, np.float32))
    with http.InferenceServerClient(server.http_url) as client:
        return client.infer("chain", [tensor]).as_numpy("Y").tolist()
"""
_PYTEST = ("pytest", "pytest-xdist", "pytest-timeout", "anyio", "hypothesis")  # what registers with pytest here


def test_each_worker_starts_one_server_for_a_path_and_replaces_one_that_has_ended(project: Path, run: Run) -> None:
    code = """
        from pathlib import Path

        @pytest.mark.parametrize("number", range(4))
        def test_answer(triton_server, number):
            server = triton_server("ensembles/chain")
            assert server is triton_server(Path(__file__).parent / "ensembles" / "chain")
            assert ask(server) == [[3, 3, 3]]
            with open("servers", "a") as file:
                print(os.environ["PYTEST_XDIST_WORKER"], server.pid, server.http_url, server.grpc_url, file=file)

        def test_death(triton_server):
            server = triton_server("ensembles/chain")
            os.kill(server.pid, signal.SIGKILL)
            os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
            assert ask(triton_server("ensembles/chain")) == [[3, 3, 3]]
    """
    result = run(_ASK + dedent(code), "-n", "2", "--dist", "each", "-v")
    result.assert_outcomes(passed=10)
    lines = set((project / "servers").read_text().splitlines())
    workers, pids, *urls = zip(*(line.split() for line in lines), strict=True)
    assert sorted(workers) == ["gw0", "gw1"]  # one server each, so one line each
    assert len({*urls[0], *urls[1]}) == 4
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_processes_start_beside_clients_of_grpc(run: Run) -> None:
    """Else one of a hundred starts ends in an abort of gRPC, and a user's test in "tritonserver ended"."""
    code = """
        import subprocess
        import threading
        from concurrent.futures import ThreadPoolExecutor
        import tritonclient.grpc as grpc
        from triton_ensembles.ground.processes import die_with_parent

        def test_starts():
            clients = [grpc.InferenceServerClient("127.0.0.1:1") for _ in range(4)]
            ended = threading.Event()

            def ask(client):
                while not ended.is_set():
                    with pytest.raises(grpc.InferenceServerException):
                        client.is_server_live(client_timeout=0.2)

            with ThreadPoolExecutor(4) as pool:
                asking = pool.map(ask, clients)
                codes = {subprocess.run(["true"], preexec_fn=die_with_parent()).returncode for _ in range(200)}
                ended.set()
            assert codes == {0} and [*asking] == [None] * 4
    """
    run(_ASK + dedent(code)).assert_outcomes(passed=1)


def test_a_failed_test_shows_what_the_server_wrote_meanwhile_and_no_more(project: Path, run: Run) -> None:
    """And what does not load is said in Triton's words, at once when it is asked for again, without our own lines."""
    raising = 'if args["model_name"]: raise ValueError("no weights here")'
    write_files(project / "ensembles", archives.model("broken", initialize=raising))
    model = project / "ensembles" / "chain" / "first" / "1" / "model.py"
    model.write_text(model.read_text().replace("time.sleep", "print('rows', len(requests), flush=True); time.sleep"))
    code = """
        def test_passes(triton_server):
            assert ask(triton_server("ensembles/chain")) == [[3, 3, 3]]

        def test_fails(triton_server):
            assert ask(triton_server("ensembles/chain")) == "another answer"

        def test_fails_for_another_reason(triton_server):
            assert triton_server is None

        @pytest.mark.parametrize("again", [False, True])
        def test_broken(triton_server, again):
            triton_server("ensembles/broken")

        def test_caught(triton_server):
            with pytest.raises(Exception, match="no weights here"):
                triton_server("ensembles/broken")
    """
    result = run(_ASK + dedent(code), "-v", "--tb=long")
    result.assert_outcomes(passed=2, failed=4)
    report = "\n".join(result.outlines).partition("= FAILURES ")[2].lstrip("=")
    report = re.split("^=====", report, maxsplit=1, flags=re.MULTILINE)[0]
    _, *parts = re.split(r"^_+ test_.* _+$", report, flags=re.MULTILINE)
    failures = dict(zip(("fails", "reason", "broken", "again"), parts, strict=True))
    shown = failures["fails"].partition("- tritonserver log -")[2]
    assert "rows 1" in shown
    assert "successfully loaded" not in shown  # that was the test before
    assert "tritonserver log" not in failures["reason"]
    assert "ValueError: no weights here" in failures["broken"].partition("tritonserver log")[0]
    assert "tritonserver log" not in failures["again"]  # it was not tried again
    for name in ("broken", "again"):
        assert 'triton_server("ensembles/broken")' in failures[name]
        assert "def _start" not in failures[name]


def test_flags_come_from_the_settings_and_from_the_call(project: Path, run: Run) -> None:
    (project / "pytest.ini").write_text("[pytest]\ntriton_server_arguments = --id=file --exit-timeout-secs=3\n")
    code = """
        import json, urllib.request

        def name(server):
            with urllib.request.urlopen(f"http://{server.http_url}/v2") as reply:
                return json.load(reply)["name"]

        def test_each_has_its_own(triton_server):
            servers = [triton_server("ensembles/chain", arguments=own) for own in ([], ["--id=our own"])]
            assert [name(server) for server in servers] == ["line", "our own"]
            assert triton_server("ensembles/chain") is servers[0]
    """
    run(_ASK + dedent(code), "-o", "triton_server_arguments=--id=line").assert_outcomes(passed=1)


def test_without_the_extra_it_names_the_line_that_installs_it(
    project: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the tests that ask for a server fail, not the others of the project."""
    missing = modules_without(distributions([*PROJECT["dependencies"], *_PYTEST]))
    assert "numpy" in missing
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE % (missing,))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    code = """
        import sys

        def test_light():
            heavy = {"numpy", "boto3", "botocore", "grpc", "tritonclient", "aiohttp", "google.protobuf", "pydantic"}
            assert not heavy & {*sys.modules}

        def test_server(triton_server): ...
        def test_endpoint(sagemaker_endpoint): ...
    """
    result = run(dedent(code))
    result.assert_outcomes(passed=1, errors=2)
    for name in ("triton_server", "sagemaker_endpoint"):
        result.stdout.fnmatch_lines([f"E *{name} needs the package *, which is not installed; run: *"])


def test_it_can_be_left_out_and_its_settings_are_in_the_help(project: Path, run: Run) -> None:
    """-p no:triton-ensembles, for those whose own fixtures have the same names."""
    code = "def test_one(triton_server): ..."
    run(code, "-p", "no:triton-ensembles").stdout.fnmatch_lines(["E *fixture 'triton_server' not found"])
    shown = run(code, "--help").stdout
    shown.fnmatch_lines(["*sagemaker_endpoint_memory_budget (string):*"])
    run(code, "--fixtures").stdout.fnmatch_lines(["triton_server * -- *", "    triton_server(path, ...*: the real*"])


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_no_server_outlives_the_tests(project: Path, number: int) -> None:
    """After Ctrl-C, or after a kill -9 by an impatient CI runner."""
    code = """
        import time

        def test_long(triton_server, sagemaker_endpoint, sagemaker_endpoint_proc):
            print("pids", triton_server("ensembles/chain").pid, sagemaker_endpoint_proc.pid, flush=True)
            time.sleep(600)
    """
    (project / "test_long.py").write_text(dedent(code))
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s")
    with running(*command, cwd=project) as process:
        line = next(line for line in process.stdout or () if "pids" in line)
        pids = [int(pid) for pid in line.partition("pids")[2].split()]
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
        process.send_signal(number)
        process.wait(120)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    assert process.returncode == (2 if number == signal.SIGINT else -signal.SIGKILL)
