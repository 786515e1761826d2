"""The command tune: a search of a tiny ensemble on the real server."""

import json
import signal
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.commands.projects import command, run_in, succeeded
from tests.running import running

# Faster, with another answer, and not to be loaded, by what a candidate's config says.
_MODEL = """import json
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.seconds = 0.002 if config["instance_group"][0]["count"] == 2 else 0.04
        self.added = 1 if config["max_batch_size"] == 8 else 2
        if int(config["dynamic_batching"]["max_queue_delay_microseconds"]):
            raise RuntimeError("no delay is allowed here")

    def execute(self, requests):
        time.sleep(self.seconds)
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + self.added)])
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_chain(folder)
    (folder / "ensembles" / NAME / "first" / "1" / "model.py").write_text(_MODEL)
    config = folder / "ensembles" / NAME / "first" / "config.pbtxt"
    config.write_text(f"# ours\r\n{config.read_text()}")
    return folder


def test_a_search_finds_what_is_faster_and_writes_it(project: Path, tmp_path: Path) -> None:
    """Otherwise tune reports settings that it did not measure, or that change the answers, or destroys files."""
    config = project / "ensembles" / NAME / "first" / "config.pbtxt"
    before = config.read_bytes()
    others = ("second.instances", "second.queue_delay_us", "second.max_batch_size")
    kept = [word for name in others for word in ("--keep", name)]
    goal = ["--p99", "20s", "--minutes", "9", "--seconds", "0.3", "--concurrency", "2"]
    arguments = [*goal, *kept, "--write", "--format", "json", "--output", tmp_path]
    result = succeeded(run_in(project, "tune", NAME, *arguments))
    found = json.loads(result.stdout)

    assert found["best"]["settings"] == {"first.instances": 2}
    assert found["final"]["ratio"] > 1 and found["final"]["ratio_of"] == "throughput"
    assert found["written"] == [str(config)]
    after = config.read_bytes()
    assert after == before.replace(b"count: 1", b"count: 2")
    assert after.startswith(b"# ours\r\n")
    assert any(line.startswith("+instance_group [ { count: 2") for line in found["diff"].splitlines())

    dropped = {json.dumps(each["settings"]): each["reason"] for each in found["dropped"]}
    slow = [reason for settings, reason in dropped.items() if "queue_delay_us" in settings]
    other = [reason for settings, reason in dropped.items() if "max_batch_size" in settings]
    assert slow and all("it does not load" in reason and "no delay is allowed here" in reason for reason in slow)
    assert other and all("its answers differ: Y of row 1 differs by" in reason for reason in other)
    assert not any("queue_delay_us" in json.dumps(each["settings"]) for each in found["trials"])

    present = [each for each in found["trials"] if not each["settings"]]
    assert {each["concurrency"] for each in present} == {1, 2}
    assert any(each["front"] for each in found["trials"])
    assert found["versions"]["tritonserver"] == "2.51.0" and found["weights"]
    assert json.loads((tmp_path / f"{NAME}.json").read_text())["best"] == found["best"]
    assert not list((project / "build" / "cpu").glob(".*.tune"))


@pytest.mark.slow
def test_ctrl_c_prints_the_best_so_far_and_leaves_nothing(project: Path, tmp_path: Path) -> None:
    """Otherwise minutes of measuring are lost, or a server stays behind."""
    arguments = ["tune", NAME, "--p99", "20s", "--seconds", "0.3", "--concurrency", "1", "--output", tmp_path]
    with running(*command(project, *arguments), stderr=-1) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "present settings:" in line:
                process.send_signal(signal.SIGINT)
                break
        printed, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert errors.rstrip().endswith("stopped by Ctrl-C")
    assert "it was interrupted, after" in printed
    assert "best: present settings, at concurrency 1" in printed
    assert not list((project / "build" / "cpu").glob(".*.tune"))
