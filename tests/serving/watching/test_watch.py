"""``serve --watch`` on the real server: edits are loaded while it runs, in Triton's words where it refuses."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.repositories import model_py, pack, write_chain, write_ensemble, write_step
from tests.running import lines_until, port_options, running
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.ports import Ports
from triton_ensembles.serving.served import served, server_of
from triton_ensembles.serving.watching.source import watched_source
from triton_ensembles.serving.watching.watch import EXPLICIT_MODE, Watch, Watched

_MOST_SECONDS = 120.0


class Session:
    """A watched repository: ``said`` are the lines that people see."""

    def __init__(self, repository: Path, client: http.InferenceServerClient, said: list[str]) -> None:
        self.repository, self._client, self.said = repository, client, said

    def after(self, edit: Callable[[], object], line: str) -> str:
        """The first line that matches, said after ``edit``."""
        seen = len(self.said)
        edit()
        limit = time.monotonic() + _MOST_SECONDS
        while time.monotonic() < limit:
            if found := next((said for said in self.said[seen:] if re.search(line, said)), None):
                return found
            time.sleep(0.05)
        raise AssertionError(f"no line {line!r} in {self.said[seen:]}")

    def write(self, path: str, text: str) -> Callable[[], object]:
        return lambda: (self.repository / path).write_text(text)

    def ask(self, model: str) -> list[float] | str:
        """What the model makes of 1 and 10."""
        given = http.InferInput("X", [1, 2], "FP32").set_data_from_numpy(np.array([[1, 10]], np.float32))
        try:
            answer = self._client.infer(model, [given]).as_numpy("Y")
        except InferenceServerException as error:
            return str(error.message())
        assert answer is not None
        return [float(value) for value in answer[0]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "scratch").mkdir()
    found = served(write_chain(folder / "models"), folder / "scratch")
    said: list[str] = []
    with (
        watched_source(found, lambda _: None) as (watched, source),
        server_of([watched], arguments=EXPLICIT_MODE) as server,
        Watch([Watched(source)], server, said.append) as watch,
        http.InferenceServerClient(server.http_url, network_timeout=_MOST_SECONDS) as client,
    ):
        yield Session(folder / "models", client, said)
        assert watch.failure is None


def test_an_edited_step_is_loaded_with_the_ensemble_that_has_it(session: Session) -> None:
    line = session.after(session.write("double/1/model.py", model_py(20)), "reloaded")
    assert re.fullmatch(r"reloaded double in \d+\.\d s \(double/1/model\.py\), and with it six", line)
    assert session.ask("six") == [60.0, 600.0]


def test_an_older_file_in_its_place_is_loaded_too(session: Session) -> None:
    """Triton compares time stamps, and does nothing for one that is not newer."""
    older = session.repository.parent / "older.py"
    older.write_text(model_py(30))
    os.utime(older, (1e9, 1e9))
    session.after(lambda: shutil.copy2(older, session.repository / "double/1/model.py"), "reloaded double")
    assert session.ask("double") == [30.0, 300.0]


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("1/model.py", "import nope", "No module named 'nope'"),
        ("config.pbtxt", 'backend: "python"\nno_such_field: 1', 'no field named "no_such_field"'),
    ],
)
def test_what_does_not_load_is_said_and_the_version_before_serves_on(
    session: Session, file: str, text: str, reason: str
) -> None:
    before, path = session.ask("six"), session.repository / "double" / file
    written = path.read_text()
    line = session.after(session.write(f"double/{file}", text), "not loaded: double: ")
    assert re.search(reason, line)
    assert line.endswith("the version before still serves")
    assert session.ask("six") == before
    session.after(lambda: path.write_text(written), "reloaded double")


def test_an_ensemble_that_no_longer_fits_its_step_is_named_and_comes_back(session: Session) -> None:
    config = session.repository / "triple" / "config.pbtxt"
    written = config.read_text()
    line = session.after(lambda: config.write_text(written.replace("[ 2 ]", "[ 3 ]")), "six is not served")
    assert "inconsistent shape" in line
    session.after(lambda: config.write_text(written), "reloaded triple.*six|reloaded six")
    assert session.ask("six") == [90.0, 900.0]


def test_new_models_are_loaded_and_removed_ones_unloaded(session: Session) -> None:
    def add() -> None:
        write_ensemble(session.repository, "twelve", ["triple", "quadruple"])
        write_step(session.repository, "quadruple", 4)

    assert "quadruple" in session.after(add, "loaded twelve")
    assert session.ask("twelve") == [12.0, 120.0]
    session.after(lambda: shutil.rmtree(session.repository / "quadruple"), "twelve is not served any more: .*quadruple")
    session.after(lambda: shutil.rmtree(session.repository / "twelve"), "unloaded twelve: its folder is gone")
    assert "twelve" in str(session.ask("twelve"))


def test_an_ensemble_waits_for_its_step(session: Session) -> None:
    line = session.after(lambda: write_ensemble(session.repository, "nine", ["triple", "later"]), "not loaded: nine")
    assert "later" in line
    session.after(lambda: write_step(session.repository, "later", 3), "nine")
    assert session.ask("nine") == [9.0, 90.0]


def test_a_crash_at_an_import_is_said_and_what_comes_after_it_is_served(tmp_path: Path) -> None:
    """Triton waits for ever for the process that has ended, and says nothing."""
    models = write_chain(tmp_path / "models")
    code = models / "double" / "1" / "model.py"
    command = (sys.executable, "-m", "triton_ensembles", "serve", os.fspath(models), "--watch")
    with Ports.reserved() as ports, running(*command, *port_options(ports), stderr=subprocess.STDOUT) as process:
        lines_until(process.stdout, "watching")
        code.write_text("import os\nos.abort()\n")
        line = lines_until(process.stdout, "not loaded: double: its Python process ended, by a crash or an exit")[-1]
        assert line.endswith("(double/1/model.py); the version before still serves")
        code.write_text(model_py(20))
        lines_until(process.stdout, "tritonserver is started again: it still waits for the process of double")
        lines_until(process.stdout, "watching")
        with http.InferenceServerClient(f"127.0.0.1:{ports.http}", network_timeout=_MOST_SECONDS) as client:
            assert Session(models, client, []).ask("six") == [60.0, 600.0]
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0


def test_an_archive_is_refused(tmp_path: Path) -> None:
    found = served(pack(write_chain(tmp_path / "models"), tmp_path / "six.tar.gz"), tmp_path)
    with pytest.raises(EnsembleError, match="an archive is not watched"), watched_source(found, lambda _: None):
        pass
