"""Syntax that is newer than the Python of an image, as that Python's stub has it."""

from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.endpoint.hosting import archives
from tests.running import serving
from tests.server.test_stubs import installed
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer

# Lines of model.py, and the first Python that takes them.
LINES = {
    "groups": ("try:\n    pass\nexcept* ValueError:\n    pass", (3, 11)),
    "starred": ("def f(*args: *tuple): pass", (3, 11)),
    "index": ("def f(x, y): return x[*y]", (3, 11)),
    "match": ("match 1:\n    case _: pass", (3, 10)),
    "brackets": ("with (open('/dev/null') as a, open('/dev/null') as b): pass", (3, 9)),
    "old_bracket": ("with (open('/dev/null')) as a: pass", (3, 8)),
    "old_tuple": ("def f(x, y): return x[(*y, 1)]", (3, 8)),
    "old_names": ("match = type = 1\nprint(match)", (3, 8)),
}


@pytest.mark.parametrize(("python", "image"), [("3.8", "22.08"), ("3.10", "24.09")])
def test_the_stub_of_the_image_does_not_load_newer_syntax(python: str, image: str, tmp_path: Path) -> None:
    """Otherwise what a laptop's Python takes dies on AWS, or a model that the image runs is refused."""
    installed(python)
    for name, (line, _) in LINES.items():
        files = archives.model(name)
        files[f"{name}/1/model.py"] = f"{line}\n".encode() + files[f"{name}/1/model.py"]
        archives.written(files, tmp_path)
    flags = ["--exit-on-error=false", "--strict-readiness=false"]
    with serving(TritonServer([tmp_path], arguments=flags, python=python)) as server, http_client(server) as client:
        loaded = {m["name"] for m in client.get_model_repository_index() if m.get("state") == "READY"}
    newer = {name for name, (_, since) in LINES.items() if since > tuple(map(int, python.split(".")))}
    assert loaded == LINES.keys() - newer
    found = [fault for fault in faults(tmp_path, image=image) if fault.rule == "model-py-syntax"]
    assert {fault.place.path.split("/")[-3] for fault in found} == newer and len(found) == len(newer)
