"""``python -m triton_ensembles``: the command line."""

from triton_ensembles.commands.cli import main

main(prog_name="triton-ensembles")
