"""A session in a shell as a page shows it: what is typed after `$ `, and below it what is printed.

The blocks of kind `console` are one session in their order; a `python` block is the file ask.py. A command that ends in
`&` stays until the end, and the variables that it prints as `export NAME=VALUE` are those of the commands after it.
"""

import contextlib
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.running import lines_until, running

_VARIES = (
    (r"\(\d+\.\d+ s\)|in \d+\.\d+ s", "SECONDS"),
    (r"\d+\.\d MB  sha256 [0-9a-f]{12}…", "SIZE"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(?<=[ \"])[~/][\w./-]*/(?=logs|endpoint)", "HOME/"),
    (r"tritonserver-\d+\.log", "tritonserver.log"),
)


def typed(page: Path) -> Iterator[tuple[str, str]]:
    """The commands of the session, and what the page says that each prints."""
    for block in blocks_of(page):
        if block.kind == "python":
            yield f"cat > ask.py <<'END'\n{block.text}END", ""
        elif block.kind == "console":
            for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, printed = re.fullmatch(r"((?:.*\\\n)*.*)\n((?:.*\n)*)", step).groups()
                yield command, printed


def stable(text: str) -> str:
    """Without the numbers and paths that differ from one run to the next."""
    for pattern, name in _VARIES:
        text = re.sub(pattern, name, text)
    return text.strip()


def replay(
    page: Path, folder: Path, shell: dict[str, str], options: dict[str, list[str]]
) -> list[tuple[str, str, str]]:
    """Type the session of ``page`` in ``folder``. ``options`` are added to the commands that stay, by their name, and
    addresses in later commands are those that they printed. Returns each command with what the page says, and what was
    printed."""
    shell, addresses, session = dict(shell), {}, []
    with contextlib.ExitStack() as ended:
        for command, says in typed(page):
            for shown, address in addresses.items():
                command = command.replace(shown, address)
            if not command.endswith(" &"):
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=shell, capture_output=True, text=True)
                session.append((command, stable(says), stable(done.stdout) or done.stderr))
                continue
            words = shlex.split(command.removesuffix(" &"))
            process = ended.enter_context(running(*words, *options[words[1]], cwd=folder, env=shell))
            ended.callback(process.send_signal, signal.SIGINT)
            printed = "\n".join(lines_until(process.stdout, "Ctrl-C"))
            session.append((command, stable(says), stable(printed)))
            addresses |= dict(zip(*(re.findall(r"127\.0\.0\.1:\d+", text) for text in (says, printed)), strict=True))
            shell |= dict(re.findall(r"^export (\w+)=(\S+)$", printed, re.MULTILINE))
    return session
