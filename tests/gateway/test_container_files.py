"""What the image is built from: there is no Docker here, so its file and its scripts are held to their rules."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from checkout import ROOT

INSTRUCTION = re.compile(r"^([A-Z]+) +(.*)$", re.MULTILINE)


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "gateway" / "Dockerfile").read_text().replace("\\\n", " ")
    return [match.groups() for match in INSTRUCTION.finditer(text)]


def test_the_image_is_pinned_runs_without_root_and_copies_what_there_is() -> None:
    of = dict(instructions())
    assert re.search(r":\d\d\.\d\d-py3$", of["FROM"])
    assert of["USER"] not in ("root", "0")
    copied = [word for kind, rest in instructions() if kind == "COPY" for word in rest.split()[:-1] if "--" not in word]
    for path in copied:
        assert path.startswith("dist/") or (ROOT / path).is_file(), path  # dist/: the wheel, which `make image` writes
    for script in (of["CMD"], of["HEALTHCHECK"].partition("CMD ")[2]):
        assert f"gateway/{script.strip('[]').strip(chr(34))}" in copied


def test_the_dockerfile_keeps_the_usual_rules() -> None:
    """What hadolint says with its defaults: DL3002, DL3006, DL3007, DL3020, DL3025, DL3042, DL4006 and the like."""
    found = instructions()
    kinds = [kind for kind, _ in found]
    assert kinds[0] == "FROM" and kinds.count("CMD") == 1 and kinds.count("HEALTHCHECK") == 1
    assert "ADD" not in kinds and "SHELL" not in kinds and "MAINTAINER" not in kinds
    users = [rest for kind, rest in found if kind == "USER"]
    assert users and kinds.index("USER") > max(place for place, kind in enumerate(kinds) if kind in ("RUN", "COPY"))
    for kind, rest in found:
        if kind in ("CMD", "ENTRYPOINT"):
            assert isinstance(json.loads(rest), list)  # signals reach the program, not a shell
        if kind == "HEALTHCHECK":
            assert isinstance(json.loads(rest.partition("CMD ")[2]), list)
        if kind == "RUN":
            assert not re.search(r"\bsudo\b|\|\s*(ba)?sh\b|apt-get upgrade|:latest", rest)
            for command in re.findall(r"pip install[^&]*", rest):
                assert "--no-cache-dir" in command and ("--require-hashes" in command or "--no-deps" in command)


def test_the_scripts_are_the_shells_and_give_options_that_the_entry_point_has() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "triton_ensembles.gateway", "--help"], capture_output=True, text=True, check=True
    ).stdout
    serve = (ROOT / "gateway" / "serve").read_text()
    for script in ("serve", "healthy"):
        subprocess.run(["sh", "-n", ROOT / "gateway" / script], check=True)
    for option in re.findall(r"--[a-z]+", serve.partition(" -- ")[0]):
        assert option in said
