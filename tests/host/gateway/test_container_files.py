"""What the image is built from: there is no Docker here, so its file and its scripts are held to their rules."""

import re
import subprocess
import sys

from checkout import ROOT


def test_the_image_is_pinned_runs_without_root_and_copies_what_there_is() -> None:
    text = (ROOT / "gateway" / "Dockerfile").read_text().replace("\\\n", " ")
    instructions = re.findall(r"^([A-Z]+) +(.*)$", text, re.MULTILINE)
    of = dict(instructions)
    assert re.search(r":\d\d\.\d\d-py3$", of["FROM"])
    assert of["USER"] not in ("root", "0")
    copies = [arguments.split()[:-1] for kind, arguments in instructions if kind == "COPY"]
    copied = [word for words in copies for word in words if "--" not in word]
    for path in copied:
        assert path.startswith("dist/") or (ROOT / path).is_file(), path  # dist/: the wheel, which `make image` writes
    for script in (of["CMD"], of["HEALTHCHECK"].partition("CMD ")[2]):
        assert f"gateway/{script.strip('[]').strip(chr(34))}" in copied


def test_the_scripts_are_the_shells_and_give_options_that_the_entry_point_has() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "triton_ensembles", "host", "--help"], capture_output=True, text=True, check=True
    ).stdout
    serve = (ROOT / "gateway" / "serve").read_text()
    for script in ("serve", "healthy"):
        subprocess.run(["sh", "-n", ROOT / "gateway" / script], check=True)
    for option in re.findall(r" --[a-z-]+", serve.partition("exec ")[2]):
        assert option in help_text
