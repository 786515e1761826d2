"""Files of tests, written with the folders that they lie in, and those of an archive."""

import tarfile
from collections.abc import Mapping
from pathlib import Path


def edit(file: Path, before: str, after: str) -> None:
    """Write ``after`` in the place of ``before``, wherever that stands in the file."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def write_files(folder: Path, files: Mapping[str, object]) -> Path:
    """Write each content, a text or bytes, to its path in ``folder``; None is a folder. Returns ``folder``."""
    for name, content in files.items():
        path = folder / name
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        (path if data is None else path.parent).mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
    return folder


def packed_files(archive: Path) -> dict[str, bytes]:
    """Return the content of each member of an archive; of a folder it is empty."""
    with tarfile.open(archive) as tar:
        return {member.name: file.read() if (file := tar.extractfile(member)) else b"" for member in tar}
