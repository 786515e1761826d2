"""What clones have in common is found as equal gzip members."""

import gzip
import zlib
from pathlib import Path

from triton_ensembles.archive.gzip_members import gzip_members

CONTENTS = [b"one" * 100, b"\x1f\x8b\x08\0\0\0\0\0" * 3, b""]


def test_members_lie_one_after_the_other(tmp_path: Path) -> None:
    """Together they are the file; equal ones have equal digests, wherever they lie."""
    parts = [gzip.compress(each, mtime=0) for each in (*CONTENTS, CONTENTS[0])]
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(b"".join(parts))
    members, crc = gzip_members(path)
    assert [(each.start, each.length) for each in members] == [
        (sum(map(len, parts[:number])), len(part)) for number, part in enumerate(parts)
    ]
    assert members[0].digest == members[3].digest != members[1].digest
    assert crc == zlib.crc32(path.read_bytes())
