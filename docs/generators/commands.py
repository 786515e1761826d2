"""docs/commands.md, made from the command line's own help: python -m docs.generators.commands"""

from pathlib import Path

import click

from triton_ensembles.commands.cli import COMMANDS, main
from triton_ensembles.ground.files import write_whole

PAGE = Path("docs/commands.md")  # of the checkout, from its root
_WIDTH = 100

_HEAD = """# Commands

Made from the help texts by `python -m docs.generators.commands`; do not edit. `make` lists the shorter ways.
"""


def page() -> str:
    """Every command with its help, in the order of ``--help``."""
    parts = [_HEAD, "".join(f"- [{name}](#{name}): {line}\n" for name, line in COMMANDS.items())]
    group = click.Context(main, info_name="triton-ensembles", **main.context_settings)
    for name in COMMANDS:
        command = main.get_command(group, name)
        assert command is not None, name
        context = click.Context(command, parent=group, info_name=name, terminal_width=_WIDTH)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
        for below, part in command.commands.items() if isinstance(command, click.Group) else ():
            own = click.Context(part, parent=context, info_name=below, terminal_width=_WIDTH)
            parts.append(f"```text\n{part.get_help(own)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    with write_whole(PAGE) as file:
        file.write_text(page(), encoding="utf-8")
