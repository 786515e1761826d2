"""``python -m triton_ensembles``: the command line."""

from triton_ensembles.cli import main

main(prog_name="triton-ensembles")
