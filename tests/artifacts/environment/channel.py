"""A conda channel in a folder, with real packages made here that py-rattler solves, installs and links."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

PLACEHOLDER = "/opt/conda-build/" + "placehold_" * 20


def add_package(channel: Path, prefix: Path, facts: dict[str, object], subdir: str = "linux-64") -> None:
    """Pack the files of ``prefix`` as the conda package ``facts`` (name, version, build, depends ...) of ``channel``.
    Text files that contain :data:`PLACEHOLDER` are declared so, as conda-build does."""
    index = {"build_number": 0, "depends": [], "subdir": subdir, **facts}
    files = sorted(path for path in prefix.rglob("*") if path.is_symlink() or path.is_file())
    paths = [_path_entry(path, path.relative_to(prefix).as_posix()) for path in files]
    information: dict[str, object] = {"index.json": index, "paths.json": {"paths": paths, "paths_version": 1}}
    if facts.get("noarch") == "python":
        information["link.json"] = {"noarch": {"type": "python"}, "package_metadata_version": 1}
    file_name = f"{facts['name']}-{facts['version']}-{facts['build']}.tar.bz2"
    folder = channel / subdir
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / file_name, "w:bz2", compresslevel=1) as archive:
        for name, value in information.items():
            content = json.dumps(value).encode()
            member = tarfile.TarInfo(f"info/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for path in files:
            archive.add(path, path.relative_to(prefix).as_posix())
    content = (folder / file_name).read_bytes()
    digests = {name: hashlib.new(name, content).hexdigest() for name in ("md5", "sha256")}
    entry = {**index, **digests, "size": len(content)}
    for name in {subdir, "noarch", "linux-64"}:
        listing = channel / name / "repodata.json"
        listing.parent.mkdir(parents=True, exist_ok=True)
        data = json.loads(listing.read_text()) if listing.exists() else {"info": {"subdir": name}, "packages": {}}
        if name == subdir:
            data["packages"][file_name] = entry
        listing.write_text(json.dumps(data))


def _path_entry(path: Path, name: str) -> dict[str, object]:
    if path.is_symlink():
        return {"_path": name, "path_type": "softlink"}
    content = path.read_bytes()
    entry: dict[str, object] = {
        "_path": name,
        "path_type": "hardlink",
        "sha256": hashlib.sha256(content).hexdigest(),
        "size_in_bytes": len(content),
    }
    if PLACEHOLDER.encode() in content:
        mode = "binary" if b"\0" in content else "text"
        entry |= {"prefix_placeholder": PLACEHOLDER, "file_mode": mode}
    return entry
