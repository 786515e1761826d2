"""The command on the real server, with models that load in a moment."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.hosting import archives
from triton_ensembles.commands.profile import profile
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.measuring.profiling.profile import read_profile

QUICK = ("--copies", "2,3", "--concurrency", "2", "--batch", "1,8", "--seconds", "0.5", "--format", "json")


def _archive(folder: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """Inputs of a fixed size, so that random data needs no shape."""
    path = folder / f"{name}.tar.gz"
    path.write_bytes(archives.packed({each: text.replace(b"[ -1 ]", b"[ 4 ]") for each, text in files.items()}))
    return path


def _profile(archive: Path, *options: str) -> Result:
    return CliRunner().invoke(profile, [str(archive), "--output", str(archive.parent / "profiles"), *QUICK, *options])


def test_an_archive_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many copies as there is room for, each loaded beside the others; then one under load; then no more."""
    free = iter((1 << 40, 0))
    monkeypatch.setattr("triton_ensembles.measuring.profiling.measure.available_memory", lambda: next(free))
    slow_first = "if not hasattr(self, 'warm'): self.warm = time.sleep(0.3)"
    rested = "time.monotonic() - getattr(self, 'last', 0) > 0.3"
    slow_after_a_rest = f"import time; time.sleep(0.1 * ({rested})); self.last = time.monotonic()"
    flag = str(tmp_path / "loading")
    loading = f"open({flag!r}, 'w').close(); time.sleep(1); os.unlink({flag!r})"
    slow_first += f"\n            time.sleep(0.5 * os.path.exists({flag!r}))"
    files = archives.ensemble("pair", "one", "two") | archives.model("one", loading, execute=slow_first)
    files |= archives.model("two", execute=slow_after_a_rest)
    archive = _archive(tmp_path, "pair", files)

    result = _profile(archive)
    assert result.exit_code == 0, f"{result.output}{result.exception}"
    (found,) = json.loads(result.stdout)["profiles"]
    measured = read_profile(Path(found["file"]), file_digest(archive))
    assert found["measured"]
    assert (measured.archive, measured.ensemble, measured.form) == ("pair.tar.gz", "pair", "drawn")
    assert measured.packed_bytes == archive.stat().st_size
    assert measured.unpacked_bytes > sum(map(len, files.values()))
    assert measured.load_core_seconds > 0
    assert measured.first_seconds > 0.3
    assert measured.rested.p50_seconds > 0.1
    assert (measured.rested.concurrency, measured.rested.batch) == (1, 1)
    assert measured.beside is not None and measured.beside.p99_seconds > 0.5
    one, two = (each.memory for each in measured.loaded)  # of two steps each, which are processes
    assert [each.models for each in measured.loaded] == [1, 2]
    assert two.anonymous_bytes > 1.5 * one.anonymous_bytes > 1 << 20
    assert "at most 2 loaded: the next one may need" in result.stderr
    assert {(each.concurrency, each.batch) for each in measured.answers} == {(1, 1), (2, 1)}  # it takes no batches
    assert all(each.core_seconds > 0 for each in measured.answers)

    again = json.loads(_profile(archive).stdout)["profiles"]
    assert again == [found | {"measured": False}]


@pytest.mark.slow
def test_what_a_copy_keeps_of_its_largest_batch_is_measured(tmp_path: Path) -> None:
    """Otherwise a plan has room for more copies than stay after a day's worst request. It is far more than the server's
    files take, which count as less while other tests have them in memory too."""
    largest = "any(len(request.inputs()[0].as_numpy()) == 8 for request in requests)"
    keeps = f"if {largest} and not hasattr(self, 'kept'): self.kept = b'1' * 300_000_000"
    batched = b'max_batch_size: 8 backend: "python"'
    model = archives.model("keeps", execute=keeps)
    files = {name: text.replace(b'backend: "python"', batched) for name, text in model.items()}
    archive = _archive(tmp_path, "keeps", files)
    result = _profile(archive, "--copies", "1")
    assert result.exit_code == 0, f"{result.output}{result.exception}"
    (row,) = json.loads(result.stdout)["profiles"]
    measured = read_profile(Path(row["file"]), file_digest(archive))
    assert 230_000_000 < measured.kept_bytes < 370_000_000
    assert measured.loaded[0].memory.bytes < 150_000_000


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (archives.model(initialize="int('out of luck')"), "'out of luck'"),
        (archives.model(execute="raise ValueError('not today')"), "ValueError: not today"),
    ],
    ids=["does not load", "answers with errors"],
)
def test_an_archive_that_cannot_be_measured(files: dict[str, bytes], words: str, tmp_path: Path) -> None:
    """One line with Triton's reason, and no profile."""
    result = _profile(_archive(tmp_path, "bad", files))
    assert isinstance(result.exception, EnsembleError)
    assert words in str(result.exception)
    assert result.exception.cure
    assert not (tmp_path / "profiles").exists()
