"""``lsp``: the language server."""

import click

from triton_ensembles.editing.features import make_server


@click.command("lsp")
def lsp_command() -> None:
    """Check what is typed in an editor, which starts this command and talks to it over standard input and output.

    It is a server of the Language Server Protocol, for config.pbtxt, model.py, ensemble.toml and the files beside them:
    faults while they are typed, exact fixes, what fields, values and rules mean, completion of fields, values, models
    and tensors, and the definition of a model or tensor. It writes no file.

    docs/editors.md has the lines for VS Code, Neovim, Helix, Zed and PyCharm.
    """
    make_server().serve()
