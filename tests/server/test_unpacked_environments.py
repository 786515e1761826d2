"""Whose are the folders in /tmp: several servers unpack environments on one machine."""

from pathlib import Path

from tests.hosting import archives
from triton_ensembles.hosting.environment_sizes import EnvironmentSizes
from triton_ensembles.server.triton_server import TritonServer

MIB = 1 << 20


def make_repository(folder: Path, megabytes: int) -> Path:
    return archives.written(archives.with_environment(archives.model(), megabytes=megabytes), folder)


def test_each_server_finds_its_own_and_removes_it_also_when_it_is_killed(tmp_path: Path) -> None:
    """Otherwise one server is charged for another's, or deletes it while its steps run."""
    small, large = make_repository(tmp_path / "small", 2), make_repository(tmp_path / "large", 5)
    with TritonServer([small], log=tmp_path / "1") as one, TritonServer([large], log=tmp_path / "2") as two:
        folders = [server.note_environments() for server in (one, two)]
        assert [len(each) for each in folders] == [1, 1]
        assert folders[0].isdisjoint(folders[1])
        assert [EnvironmentSizes().total(each) // MIB for each in folders] == [2, 5]
        one.stop(at_once=True)
        assert [[folder.exists() for folder in each] for each in folders] == [[False], [True]]
        assert two.note_environments() == folders[1]
    assert not any(folder.exists() for folder in folders[1])


def test_sizes_are_those_of_the_disk(tmp_path: Path) -> None:
    """Holes take no room, one that is being unpacked or was replaced is measured again, and one that is gone counts as
    nothing."""
    sizes = EnvironmentSizes()
    (tmp_path / "0" / "lib").mkdir(parents=True)
    (tmp_path / "0" / "lib" / "data").write_bytes(b"x" * MIB)
    with (tmp_path / "0" / "hole").open("wb") as file:
        file.truncate(64 * MIB)
    first = sizes.total([tmp_path, tmp_path / "gone"])
    assert MIB <= first < 2 * MIB
    (tmp_path / "0" / "lib" / "more").write_bytes(b"x" * MIB)
    assert sizes.total([tmp_path]) >= 2 * MIB
    (tmp_path / "0").rename(tmp_path / "old")
    (tmp_path / "0").mkdir()
    assert sizes.total([tmp_path]) > first
