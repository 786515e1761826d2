"""Where Triton is, and the files that lie beside the program."""

import os
from pathlib import Path

GRPC, HTTP = os.environ["TRITON_GRPC"], os.environ["TRITON_HTTP"]
FILES = Path(os.environ["FILES"])


def labels_of(model):
    return (FILES / f"{model}.txt").read_text().splitlines()
