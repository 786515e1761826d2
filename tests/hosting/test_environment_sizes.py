"""The disk space of the environments that Triton has unpacked."""

from pathlib import Path

from triton_ensembles.hosting.environment_sizes import EnvironmentSizes

MIB = 1 << 20


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
