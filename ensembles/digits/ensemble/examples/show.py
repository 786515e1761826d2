"""How an answer of digits is shown: the label with its score."""


def show(_inputs, outputs):
    for label, score in zip(outputs["LABEL"].reshape(-1), outputs["SCORE"].reshape(-1), strict=True):
        yield f"{score:6.3f}  {label.decode()}"
